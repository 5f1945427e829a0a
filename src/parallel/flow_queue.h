// The bounded queue between two steps of a flow (parallel/flow.h). Inside parallel/ only.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace evener::parallel {

/// What the source of a flow handed out: its number, from 0, and its name for messages.
struct FlowOrigin {
  std::int64_t number = 0;
  std::string name;
};

/// A value on its way through the flow, and the source items it was made from: several where a batch became one value.
struct FlowItem {
  std::shared_ptr<void> value;  // of the type that the next step takes
  std::vector<std::shared_ptr<const FlowOrigin>> origins;
};

/// Hands items from the workers of one step to the workers of the next. Each piece of work has a place: its number in
/// the order in which the producing step took its input. Items leave the queue in the order of places, whichever worker
/// was faster, so a worker that is `capacity` places ahead of the slowest one has to wait. The worker whose place is
/// next never waits for another one, so the queue can't deadlock.
class FlowQueue {
 public:
  /// Without `keep_order` items leave in the order in which they came.
  FlowQueue(std::size_t capacity, bool keep_order);

  /// Adds the results of the work at `place`: none, one or several items. Every place has to be put exactly once, or
  /// the queue would wait for it for ever. Waits for room; the queue exceeds its capacity only when one piece of work
  /// yields several items. False: the flow was cancelled and the items are dropped.
  bool put(std::int64_t place, std::vector<FlowItem> items);
  /// Says that no more items will come.
  void close();

  /// Items that a worker takes together, and the place of its results in the following queue.
  struct Handful {
    std::int64_t place = 0;
    std::vector<FlowItem> items;
  };
  /// Waits for `most` items and takes them; fewer only once the queue is closed. Absent when none are left or the flow
  /// was cancelled. `most` must not exceed the capacity.
  std::optional<Handful> take(std::size_t most);
  /// Waits up to `longest_s` seconds until take() would return at once; false if it still wouldn't.
  bool wait_to_take(std::size_t most, double longest_s);

  /// Makes all waiting calls return; from then on nothing can be put or taken.
  void cancel();

  std::size_t capacity() const { return capacity_; }
  /// Mean number of items in the queue since its construction.
  double mean_depth() const;
  std::size_t max_depth() const;

 private:
  bool has_room(std::int64_t place) const;
  bool can_take(std::size_t most) const { return cancelled_ || closed_ || ready_.size() >= most; }
  void append(std::vector<FlowItem> items);
  void note_depth(std::size_t depth);

  const std::size_t capacity_;
  const bool keep_order_;
  mutable std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<FlowItem> ready_;                           // in the order in which they leave
  std::map<std::int64_t, std::vector<FlowItem>> early_;  // by place: items that wait for a slower worker's
  std::int64_t next_place_ = 0;                          // the lowest place that was not put yet
  std::int64_t taken_ = 0;                               // number of handfuls taken
  bool closed_ = false, cancelled_ = false;
  // The depth, and its integral over time up to the last change.
  std::size_t depth_ = 0, max_depth_ = 0;
  double depth_seconds_ = 0, begin_s_ = 0, changed_s_ = 0;
};

}  // namespace evener::parallel
