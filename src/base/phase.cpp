#include "base/phase.h"

#include <atomic>

#include "base/clock.h"
#include "base/names.h"
#include "base/this_work.h"

namespace evener {
namespace {

constexpr const char* kPhases[] = {"spawn",   "connect",  "read",     "decode", "augment",  "H2D",
                                   "forward", "backward", "exchange", "update", "evaluate", "D2H"};

std::atomic<PhaseListener*> current_listener{nullptr};
thread_local PhaseMark* innermost_mark = nullptr;
thread_local bool on_critical_thread = false;

}  // namespace

const char* phase_name(Phase phase) {
  return name_in(kPhases, phase);
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
