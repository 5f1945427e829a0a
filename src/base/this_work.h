// What a thread works for, where several jobs run in one process: whether that job is to stop, and who listens to its
// phases. Threads begin with nothing of their own, and then only what concerns the whole process counts: signals
// (base/stop.h) and set_phase_listener() (base/phase.h).
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

/// That of the calling thread.
const Work& this_work();
/// The same with another stop flag, where `stop` isn't null.
Work this_work_until(const StopFlag* stop);

/// The calling thread does this work during the scope's lifetime; both pointers must live as long.
class WorkScope {
 public:
  explicit WorkScope(const Work& work);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  Work before_;
};

/// A call for a thread that the calling one starts: it does the same work.
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
