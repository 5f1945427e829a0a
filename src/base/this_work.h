// The job that a thread works for, where several run in one process: its stop flag, and the listener to its phases. A
// new thread has neither; then only the process's own count: signals (base/stop.h) and set_phase_listener()
// (base/phase.h).
#pragma once

#include <concepts>
#include <utility>

#include "evener/stop.h"

namespace evener {

class PhaseListener;

struct Work {
  const StopFlag* stop = nullptr;
  PhaseListener* phases = nullptr;
};

/// The calling thread's job.
const Work& this_work();
/// The calling thread's job, with `stop` in place of its stop flag unless `stop` is null.
Work this_work_until(const StopFlag* stop);

/// Makes the calling thread work for `work` during the scope's lifetime; what the two pointers point to must live as
/// long.
class WorkScope {
 public:
  explicit WorkScope(const Work& work);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  Work before_;
};

/// A callable for a new thread, which makes that thread work for the same job as the thread that made the callable.
///     std::jthread(as_this_work([&] { read(); }))
template <class Call>
class CallOfWork {
 public:
  CallOfWork(const Work& work, Call call) : work_(work), call_(std::move(call)) {}

  /// Constrained, since std::jthread asks whether the call takes a stop token.
  template <class... Arguments>
  requires std::invocable<Call&, Arguments...>
  auto operator()(Arguments&&... arguments) {
    const WorkScope scope(work_);
    return call_(std::forward<Arguments>(arguments)...);
  }

 private:
  Work work_;
  Call call_;
};

template <class Call>
CallOfWork<Call> as_this_work(Call call) {
  return {this_work(), std::move(call)};
}

}  // namespace evener
