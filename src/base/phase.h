// Phase marks: code marks which phase it is in, and a listener in measure/ adds up the times. Without a listener a mark
// costs one load.
#pragma once

#include <cstdint>

namespace evener {

/// What time is spent on; docs/measuring.md explains the phases.
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

const char* phase_name(Phase phase);

/// Receives the exclusive time of each mark (without that of marks nested in it). Called on the marking thread, from
/// several threads at once. `critical`: the thread is the one that mark_critical_thread() was called on.
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

/// Declares this thread the one whose time is the rank's; time marked on other threads passes beside it and counts as
/// hidden.
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
