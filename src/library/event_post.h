// Passes a job's events from its thread to the observer, on the thread that waits for the job.
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

  /// Queues an event; may be called on any thread. Blocks while the observer is far behind. Does nothing in a forked
  /// child.
  void send(Event event);
  /// Passes the queued events to the observer and asks it whether to stop. Call this on the observer's thread. After an
  /// exception of the observer the job is asked to stop, and later events are dropped.
  void deliver() noexcept;
  /// Throws what the observer threw.
  void rethrow() const;

  /// The job's stop flag.
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

/// Does `work` on `thread` while the calling thread delivers events. If both threw, rethrows the observer's exception,
/// since that is why the work ended.
void work_observed(WorkThread& thread, EventPost& post, const std::function<void()>& work);

}  // namespace evener::library
