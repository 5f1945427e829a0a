#include "library/event_post.h"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace evener::library {
namespace {

constexpr std::size_t kMostEvents = 1024;

}  // namespace

WorkThread::~WorkThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void WorkThread::call(const std::function<void()>& work, const std::function<void()>& meanwhile) {
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

void WorkThread::serve() {
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

EventPost::EventPost(Observer* observer, const StopFlag* users_stop)
    : observer_(observer), users_stop_(users_stop), process_(getpid()) {}

void EventPost::send(Event event) {
  if (observer_ == nullptr || getpid() != process_) return;
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return events_.size() < kMostEvents; });
  events_.push_back(std::move(event));
}

void EventPost::deliver() noexcept {
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

void EventPost::rethrow() const {
  if (thrown_) std::rethrow_exception(thrown_);
}

void work_observed(WorkThread& thread, EventPost& post, const std::function<void()>& work) {
  try {
    thread.call(work, [&post] { post.deliver(); });
  } catch (...) {
    post.rethrow();
    throw;
  }
  post.rethrow();
}

}  // namespace evener::library
