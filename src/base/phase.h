// Phase marks: the work says which phase it is in, measure/ listens. Without a listener a mark costs one load.
#pragma once

#include <cstdint>

namespace evener {

/// What time is spent on; docs/measuring.md tells them.
enum class Phase : std::uint8_t {
  kSpawn,
  kConnect,
  kRead,
  kDecode,
  kAugment,
  kH2D,
  kForward,
  kBackward,
  kExchange,
  kUpdate,
  kEvaluate,
  kD2H
};
constexpr int kPhaseCount = 12;

/// "spawn", "forward", ...
const char* phase_name(Phase phase);

/// Receives each phase's exclusive time (children of a nested mark are taken off). Called on the marking thread,
/// from several threads at once. `critical`: on the thread that the rank's progress hangs on (mark_critical_thread).
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void on_phase(Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns,
                        std::int64_t exclusive_ns) = 0;
};

/// One listener for all threads that have none of their own (base/this_work.h); nullptr switches listening off. The
/// listener must outlive every mark made meanwhile.
void set_phase_listener(PhaseListener* listener);
/// Who listens to the calling thread; null = nobody.
PhaseListener* phase_listener();

/// Says that this thread's time is the rank's own; all other threads' marks count as hidden.
void mark_critical_thread();

/// Marks its own lifetime as time of `phase`. Marks of one thread nest.
class PhaseMark {
 public:
  explicit PhaseMark(Phase phase);
  ~PhaseMark();
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  PhaseListener* listener_;
  PhaseMark* parent_ = nullptr;
  std::int64_t begin_ns_ = 0;
  std::int64_t children_ns_ = 0;
  Phase phase_;
};

}  // namespace evener
