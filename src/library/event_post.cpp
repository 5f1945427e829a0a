#include "library/event_post.h"

#include <unistd.h>

#include <utility>

namespace evener::library {
namespace {

constexpr std::size_t kMostEvents = 1024;

}  // namespace

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
