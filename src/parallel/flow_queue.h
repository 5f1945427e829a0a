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

/// A value under way, and what it was made from: one item of the source, or several where a batch became one value.
struct FlowItem {
  std::shared_ptr<void> value;  // of the type that the next step takes
  std::vector<std::shared_ptr<const FlowOrigin>> origins;
};

/// Hands items from the workers of one step to those of the next. Each piece of work has a place: the number that the
/// producing step's queue gave it. Items leave in the order of their places, whichever worker was faster, so the queue
/// is also the window in which a flow's order is restored: a worker that is `capacity` places ahead of the slowest one
/// waits. The worker at the next place never waits for another one, so the queue can't lock up.
class FlowQueue {
 public:
  /// Without `keep_order` items leave in the order in which they came.
  FlowQueue(std::size_t capacity, bool keep_order);

  /// What the work at `place` came to: no item, one, or several. Each place is put once, and none is left out. Waits
  /// for room; the queue never holds more than its capacity, except by what one piece of work makes several items of.
  /// False: the flow was cancelled, and the items are gone.
  bool put(std::int64_t place, std::vector<FlowItem> items);
  /// Nothing will be put any more.
  void close();

  /// Items that are handed out together, and their place for the queue after the next step.
  struct Handful {
    std::int64_t place = 0;
    std::vector<FlowItem> items;
  };
  /// Waits until there are `most` items, and takes them; fewer only at the end, and absent when there are none left or
  /// the flow was cancelled. `most` is at most the capacity.
  std::optional<Handful> take(std::size_t most);
  /// Waits, `longest_s` at most, for what take() would wait for. True: take() would return at once.
  bool wait_to_take(std::size_t most, double longest_s);

  /// Everybody who waits returns, and nothing can be put or taken any more.
  void cancel();

  std::size_t capacity() const { return capacity_; }
  /// Items that were here on average over the time from construction until now.
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
  std::map<std::int64_t, std::vector<FlowItem>> early_;  // by place: those that wait for a slower worker
  std::int64_t next_place_ = 0;                          // of which the items are not here yet
  std::int64_t taken_ = 0;                               // handfuls
  bool closed_ = false, cancelled_ = false;
  // The depth, and its integral over time up to the last change.
  std::size_t depth_ = 0, max_depth_ = 0;
  double depth_seconds_ = 0, begin_s_ = 0, changed_s_ = 0;
};

}  // namespace evener::parallel
