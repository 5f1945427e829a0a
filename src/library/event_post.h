// What a job tells, from the thread that it works on to the thread that waits for it.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include "evener/observer.h"
#include "evener/stop.h"
#include "library/work_thread.h"

namespace evener::library {

class EventPost {
 public:
  using Event = std::function<void(Observer&)>;

  /// `observer` and `users_stop` may be null.
  EventPost(Observer* observer, const StopFlag* users_stop);

  /// From any thread of the process; waits where the observer is far behind. A child that was forked has nobody to
  /// tell.
  void send(Event event);
  /// The observer hears what was sent, and is asked whether to stop; on its own thread. Once it has thrown it hears
  /// nothing more.
  void deliver() noexcept;
  /// Throws what the observer threw.
  void rethrow() const;

  /// For the job: that somebody wants it to end.
  const StopFlag& stop() const { return stop_; }

 private:
  Observer* const observer_;
  const StopFlag* const users_stop_;
  const pid_t process_;
  StopFlag stop_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::deque<Event> events_;
  std::exception_ptr thrown_;
};

/// Does `work` on the thread, while the calling one delivers. What the observer threw is thrown rather than what `work`
/// threw: it is why that ended.
void work_observed(WorkThread& thread, EventPost& post, const std::function<void()>& work);

}  // namespace evener::library
