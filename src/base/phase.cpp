#include "base/phase.h"

#include <atomic>

#include "base/clock.h"
#include "base/this_work.h"

namespace evener {
namespace {

std::atomic<PhaseListener*> current_listener{nullptr};
thread_local PhaseMark* innermost_mark = nullptr;
thread_local bool on_critical_thread = false;

}  // namespace

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kSpawn:
      return "spawn";
    case Phase::kConnect:
      return "connect";
    case Phase::kRead:
      return "read";
    case Phase::kDecode:
      return "decode";
    case Phase::kAugment:
      return "augment";
    case Phase::kH2D:
      return "H2D";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kExchange:
      return "exchange";
    case Phase::kUpdate:
      return "update";
    case Phase::kEvaluate:
      return "evaluate";
    case Phase::kD2H:
      return "D2H";
  }
  return "?";
}

void set_phase_listener(PhaseListener* listener) {
  current_listener.store(listener, std::memory_order_release);
}

PhaseListener* phase_listener() {
  PhaseListener* own = this_work().phases;
  return own != nullptr ? own : current_listener.load(std::memory_order_acquire);
}

void mark_critical_thread() {
  on_critical_thread = true;
}

PhaseMark::PhaseMark(Phase phase) : listener_(phase_listener()), phase_(phase) {
  if (!listener_) return;
  parent_ = innermost_mark;
  innermost_mark = this;
  begin_ns_ = now_ns();
}

PhaseMark::~PhaseMark() {
  if (!listener_) return;
  const std::int64_t end_ns = now_ns();
  const std::int64_t total_ns = end_ns - begin_ns_;
  innermost_mark = parent_;
  if (parent_) parent_->children_ns_ += total_ns;
  listener_->on_phase(phase_, on_critical_thread, begin_ns_, end_ns, total_ns - children_ns_);
}

}  // namespace evener
