#include "parallel/flow_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"

namespace evener::parallel {

FlowQueue::FlowQueue(std::size_t capacity, bool keep_order)
    : capacity_(capacity), keep_order_(keep_order), begin_s_(now_s()), changed_s_(begin_s_) {}

bool FlowQueue::put(std::int64_t place, std::vector<FlowItem> items) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return cancelled_ || has_room(place); });
  if (cancelled_) return false;
  note_depth(depth_ + items.size());
  if (!keep_order_) {
    append(std::move(items));
  } else {
    early_.emplace(place, std::move(items));
    for (auto first = early_.begin(); first != early_.end() && first->first == next_place_; first = early_.begin()) {
      append(std::move(first->second));
      early_.erase(first);
      ++next_place_;
    }
  }
  lock.unlock();
  filled_.notify_all();
  room_.notify_all();  // completing this place may make room for later places
  return true;
}

void FlowQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_all();
}

std::optional<FlowQueue::Handful> FlowQueue::take(std::size_t most) {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return can_take(most); });
  if (cancelled_ || ready_.empty()) return std::nullopt;
  Handful handful;
  handful.place = taken_++;
  const auto end = ready_.begin() + static_cast<std::ptrdiff_t>(std::min(most, ready_.size()));
  handful.items.assign(std::make_move_iterator(ready_.begin()), std::make_move_iterator(end));
  ready_.erase(ready_.begin(), end);
  note_depth(depth_ - handful.items.size());
  lock.unlock();
  room_.notify_all();
  return handful;
}

bool FlowQueue::wait_to_take(std::size_t most, double longest_s) {
  std::unique_lock lock(mutex_);
  return filled_.wait_for(lock, std::chrono::duration<double>(longest_s), [&] { return can_take(most); });
}

void FlowQueue::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  room_.notify_all();
  filled_.notify_all();
}

double FlowQueue::mean_depth() const {
  const std::lock_guard lock(mutex_);
  const double now = now_s();
  if (now <= begin_s_) return static_cast<double>(depth_);
  return (depth_seconds_ + static_cast<double>(depth_) * (now - changed_s_)) / (now - begin_s_);
}

std::size_t FlowQueue::max_depth() const {
  const std::lock_guard lock(mutex_);
  return max_depth_;
}

/// Counts the places before `place` that are still missing as occupied, since their items will come.
bool FlowQueue::has_room(std::int64_t place) const {
  const std::int64_t ahead = keep_order_ ? place - next_place_ : 0;
  return ready_.size() + static_cast<std::size_t>(ahead) < capacity_;
}

void FlowQueue::append(std::vector<FlowItem> items) {
  for (FlowItem& item : items) ready_.push_back(std::move(item));
}

void FlowQueue::note_depth(std::size_t depth) {
  const double now = now_s();
  depth_seconds_ += static_cast<double>(depth_) * (now - changed_s_);
  changed_s_ = now;
  depth_ = depth;
  max_depth_ = std::max(max_depth_, depth);
}

}  // namespace evener::parallel
