// Work as a flow: items go from a source through steps to a sink. Each step has workers of its own and a bounded queue
// before it, so that reading, decoding and computing go on at the same time, and a fast step never runs far ahead.
//
//   Flow flow = flow_from<Path>({.name = "list"}, next_path, name_of_path)
//                   .map({.name = "decode", .workers = 4, .on_failure = OnFailure::kSetAside}, decode)
//                   .expand({.name = "find faces"}, faces_of)         // one photo becomes any number of faces
//                   .batch(64)
//                   .expand({.name = "run"}, embed)           // 64 faces become 64 embeddings
//                   .into({.name = "write"}, write);
//   flow.run();
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/phase.h"

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

/// What happens when a step throws Error for an item: the flow ends, or it goes on without the item and the report
/// names the item and the reason. UsageError, OutputError, lack of memory and exceptions other than Error always end
/// the flow.
enum class OnFailure : std::uint8_t { kEndFlow, kSetAside };

/// How a step is run. Its workers are threads, which take items by value and return results.
struct FlowStep {
  std::string name;          // for messages and the report: "decode"
  int workers = 1;           // threads; 1 for a source, and for the sink, which runs on the thread that calls run()
  std::size_t capacity = 8;  // items that may wait before this step; at least the size of its batch
  OnFailure on_failure = OnFailure::kEndFlow;
  std::optional<Phase> phase = {};  // the phase that its working time counts as
  /// Asked on each worker's thread, with the worker's number from 0, before the worker waits for its next item or
  /// batch. False: this worker ends and leaves the rest to the others. The last worker left is not asked.
  std::function<bool(int worker)> goes_on = {};
};

/// Where one worker's time went. What the sum lacks to the flow's duration was spent before its first and after its
/// last item.
struct FlowWorkerReport {
  std::int64_t items = 0;   // taken by the worker, or handed out by a source
  double busy_s = 0;        // in the step's work
  double wait_input_s = 0;  // waiting for items
  double wait_room_s = 0;   // waiting for room in the next queue, or for a slower worker's item that comes first
};

/// Items in the queue before a step.
struct FlowQueueReport {
  std::size_t capacity = 0;
  double mean_depth = 0;  // time average over the flow
  std::size_t max_depth = 0;
};

struct FlowStepReport {
  std::string name;
  std::vector<FlowWorkerReport> workers;  // by number
  std::optional<FlowQueueReport> queue;   // absent: a source has none
};

/// An item that a step could not process.
struct SetAsideItem {
  std::int64_t number = 0;  // number of the source's item, from 0
  std::string name;         // of the source's item
  std::string step, reason;
};

struct FlowReport {
  double seconds = 0;
  std::vector<FlowStepReport> steps;    // the source first, the sink last
  std::vector<SetAsideItem> set_aside;  // in the order of the source
};

struct FlowOptions {
  /// True: items reach every step and the sink in the order of the source. False: in the order in which they are done,
  /// so that quick items needn't wait for a slow one.
  bool keep_order = true;
};

/// A type-erased source: `next` returns a value, or null at the end, and sets its name ("" = call it by its number).
struct FlowSource {
  FlowStep step;
  std::function<std::shared_ptr<void>(std::string& name)> next = {};
};

/// A type-erased step.
struct FlowStage {
  FlowStep step;
  std::size_t batch = 1;  // items taken at once
  std::function<std::vector<std::shared_ptr<void>>(std::vector<FlowItem>& items, int worker)> work = {};
};

/// A source, steps and a sink, ready to run. Threads exist only while run() does.
class Flow {
 public:
  /// Flows are put together by flow_from(). Throws Error for impossible numbers of workers, capacities or batches.
  Flow(FlowSource source, std::vector<FlowStage> stages);

  /// Runs until the last item has gone through; the sink's work is done on the calling thread. Throws the first
  /// exception of a source, step or sink as Error (or UsageError, engine::OutOfMemory), with the names of the step and
  /// the item before its message, and Interrupted when a stop was requested (base/stop.h). In both cases workers finish
  /// the items they hold, and items in queues are dropped. With keep_order, what the sink got until then is a prefix of
  /// the complete output.
  void run(const FlowOptions& options = {});

  /// The report of the last run(), even of one that threw.
  const FlowReport& report() const { return report_; }

 private:
  FlowSource source_;
  std::vector<FlowStage> stages_;
  FlowReport report_;
};

/// Calls a step's work with an item, and with the worker's number if it asks for one.
template <class Work, class Item>
decltype(auto) call_work(Work& work, Item item, int worker) {
  if constexpr (std::is_invocable_v<Work&, Item, int>) {
    return work(std::move(item), worker);
  } else {
    return work(std::move(item));
  }
}

/// The only element of `items`, which holds a value of type Item.
template <class Item>
Item only_item(std::vector<FlowItem>& items) {
  return std::move(*static_cast<Item*>(items.front().value.get()));
}

/// A builder of flows, whose steps so far yield items of type Item. All workers of a step call the same work object
/// concurrently, so it has to be thread-safe, and what it captures has to be copyable. `kBatched`: items were just
/// collected into batches, so a step has to come before the next batch().
template <class Item, bool kBatched = false>
class FlowOf {
 public:
  /// Makes the argument of the next step's work from the items taken from the queue.
  using Unpack = std::function<Item(std::vector<FlowItem>&)>;

  FlowOf(FlowSource source, std::vector<FlowStage> stages, std::size_t batch, Unpack unpack)
      : source_(std::move(source)), stages_(std::move(stages)), batch_(batch), unpack_(std::move(unpack)) {}

  /// A step that makes one result of each item: work(item) or work(item, worker number).
  template <class Work>
  auto map(FlowStep step, Work work) && {
    using Result = std::decay_t<decltype(call_work(work, std::declval<Item>(), 0))>;
    return std::move(*this).template then<Result>(
        std::move(step), [work = std::move(work), unpack = unpack_](std::vector<FlowItem>& items, int worker) mutable {
          return std::vector<std::shared_ptr<void>>{std::make_shared<Result>(call_work(work, unpack(items), worker))};
        });
  }

  /// A step whose work returns a vector; each of its elements is an item from here on. Where the work gets a batch and
  /// returns as many results, result i is named after item i of the batch; otherwise each result has all names.
  template <class Work>
  auto expand(FlowStep step, Work work) && {
    using Result = typename std::decay_t<decltype(call_work(work, std::declval<Item>(), 0))>::value_type;
    return std::move(*this).template then<Result>(
        std::move(step), [work = std::move(work), unpack = unpack_](std::vector<FlowItem>& items, int worker) mutable {
          std::vector<std::shared_ptr<void>> values;
          for (auto& result : call_work(work, unpack(items), worker)) {
            values.push_back(std::make_shared<Result>(std::move(result)));
          }
          return values;
        });
  }

  /// Makes the next step take `items` items at once; fewer only at the end. A failure of that step concerns the whole
  /// batch.
  FlowOf<std::vector<Item>, true> batch(std::size_t items) && requires(!kBatched) {
    const auto collect = [](std::vector<FlowItem>& taken) {
      std::vector<Item> batch;
      for (FlowItem& item : taken) batch.push_back(std::move(*static_cast<Item*>(item.value.get())));
      return batch;
    };
    return {std::move(source_), std::move(stages_), items, collect};
  }

  /// Ends the flow with a sink: the thread that calls run() calls `work` with each item.
  template <class Work>
  Flow into(FlowStep step, Work work) && {
    auto last = std::move(*this).template then<std::monostate>(
        std::move(step), [work = std::move(work), unpack = unpack_](std::vector<FlowItem>& items, int worker) mutable {
          call_work(work, unpack(items), worker);
          return std::vector<std::shared_ptr<void>>();
        });
    return Flow(std::move(last.source_), std::move(last.stages_));
  }

 private:
  template <class, bool>
  friend class FlowOf;

  template <class Result, class Work>
  FlowOf<Result> then(FlowStep step, Work work) && {
    stages_.push_back({std::move(step), batch_, std::move(work)});
    return {std::move(source_), std::move(stages_), 1, only_item<Result>};
  }

  FlowSource source_;
  std::vector<FlowStage> stages_;
  std::size_t batch_;
  Unpack unpack_;
};

/// Begins a flow with a source, whose own thread calls `next` until it returns nothing. `name_of` gives the name of an
/// item for messages and the report, such as its file; without it items are numbered.
template <class Item>
FlowOf<Item> flow_from(FlowStep step, std::function<std::optional<Item>()> next,
                       std::function<std::string(const Item&)> name_of = {}) {
  FlowSource source;
  source.step = std::move(step);
  source.next = [next = std::move(next), name_of = std::move(name_of)](std::string& name) -> std::shared_ptr<void> {
    std::optional<Item> item = next();
    if (!item) return nullptr;
    if (name_of) name = name_of(*item);
    return std::make_shared<Item>(std::move(*item));
  };
  return {std::move(source), {}, 1, only_item<Item>};
}

}  // namespace evener::parallel
