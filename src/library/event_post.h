// A job's own thread, and its events on their way to the observer, on the thread that waits for the job.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "evener/observer.h"
#include "evener/stop.h"

namespace evener::library {

/// A thread that does work while its owner waits, because work may change properties of its thread (pinning, number of
/// threads) that must not affect the caller's.
class WorkThread {
 public:
  WorkThread() : thread_([this] { serve(); }) {}
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  /// Does `work` on the thread and rethrows its exception. Meanwhile calls `meanwhile`, which must not throw, on the
  /// calling thread about fifty times a second and once at the end, unless it is empty. Only one call at a time.
  void call(const std::function<void()>& work, const std::function<void()>& meanwhile = {});

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable has_work_, is_done_;
  const std::function<void()>* work_ = nullptr;  // null: no work
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the other members
};

/// Passes a job's events from its thread to the observer, on the thread that waits for the job.
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
