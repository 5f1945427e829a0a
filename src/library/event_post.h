// WorkThread runs a job. EventPost queues its events for the observer, who gets them on the thread that waits for the
// job.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "evener/observer.h"
#include "evener/stop.h"

namespace evener::library {

/// A thread that does work while its owner waits, because work may change properties of its thread (pinning, number of
/// threads) that must not affect the caller's.
class WorkThread {
 public:
  WorkThread() : thread_([this] { serve(); }) {}
  ~WorkThread() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    has_work_.notify_one();
    thread_.join();
  }
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  /// Does `work` on the thread and rethrows its exception. Meanwhile calls `meanwhile`, which must not throw, on the
  /// calling thread about fifty times a second and once at the end, unless it is empty. Only one call at a time.
  void call(const std::function<void()>& work, const std::function<void()>& meanwhile = {}) {
    constexpr std::chrono::milliseconds kBetween{20};
    std::unique_lock lock(mutex_);
    work_ = &work;
    has_work_.notify_one();
    const auto over = [this] { return work_ == nullptr; };
    if (!meanwhile) is_done_.wait(lock, over);
    while (!is_done_.wait_for(lock, kBetween, over)) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    lock.unlock();
    if (meanwhile) meanwhile();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      has_work_.wait(lock, [this] { return work_ != nullptr || ends_; });
      if (work_ == nullptr) return;
      lock.unlock();
      std::exception_ptr failure;
      try {
        (*work_)();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
      work_ = nullptr;
      is_done_.notify_one();
    }
  }

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
  EventPost(Observer* observer, const StopFlag* users_stop)
      : observer_(observer), users_stop_(users_stop), process_(getpid()) {}

  /// Queues an event; may be called on any thread. Blocks while the observer is far behind,
  /// so the observer must not call it. Does nothing in a forked
  /// child.
  void send(Event event) {
    constexpr std::size_t kMostEvents = 1024;
    if (observer_ == nullptr || getpid() != process_) return;
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return events_.size() < kMostEvents; });
    events_.push_back(std::move(event));
  }
  /// Passes the queued events to the observer and asks it whether to stop. Call this on the observer's thread. After an
  /// exception of the observer the job is asked to stop, and later events are dropped.
  void deliver() noexcept {
    if (users_stop_ != nullptr && users_stop_->requested()) stop_.request();
    if (observer_ == nullptr) return;
    std::deque<Event> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(events_);
    }
    has_room_.notify_all();
    if (thrown_) return;
    try {
      for (const Event& event : events) event(*observer_);
      if (observer_->wants_stop()) stop_.request();
    } catch (...) {
      thrown_ = std::current_exception();
      stop_.request();
    }
  }
  /// Throws what the observer threw.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

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
inline void work_observed(WorkThread& thread, EventPost& post, const std::function<void()>& work) {
  try {
    thread.call(work, [&post] { post.deliver(); });
  } catch (...) {
    post.rethrow();
    throw;
  }
  post.rethrow();
}

}  // namespace evener::library
