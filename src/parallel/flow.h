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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/phase.h"
#include "parallel/flow_queue.h"

namespace evener::parallel {

/// What becomes of a flow when a step throws Error for an item: it ends, or goes on without the item, which the report
/// then names with the reason. A UsageError, an OutputError, too little memory and what is no Error always end the
/// flow.
enum class OnFailure : std::uint8_t { kEndFlow, kSetAside };

/// How a step is done. Workers are threads; what they do gets its items by value and gives results back.
struct FlowStep {
  std::string name;          // for messages and the report: "decode"
  int workers = 1;           // a source has one; so has the sink, which is the thread that runs the flow
  std::size_t capacity = 8;  // items that may wait before this step; at least the size of its batch
  OnFailure on_failure = OnFailure::kEndFlow;
  std::optional<Phase> phase = {};  // that the time of its work is marked as
  /// Asked in the thread of a worker, with its number from 0, before it waits for its next item or batch; false: it
  /// ends, and leaves the rest to the others. The last one that is left is not asked any more.
  std::function<bool(int worker)> goes_on = {};
};

/// What one worker's time went into. The rest of the flow's time is its start and its end.
struct FlowWorkerReport {
  std::int64_t items = 0;   // that it took, or that a source handed out
  double busy_s = 0;        // in the step's work
  double wait_input_s = 0;  // for items
  double wait_room_s = 0;   // for room in the next queue, or for a slower worker's item, whose turn is first
};

/// Items in the queue before a step.
struct FlowQueueReport {
  std::size_t capacity = 0;
  double mean_depth = 0;  // over the time of the flow
  std::size_t max_depth = 0;
};

struct FlowStepReport {
  std::string name;
  std::vector<FlowWorkerReport> workers;  // by number
  std::optional<FlowQueueReport> queue;   // absent: a source has none
};

/// An item that a step could not process.
struct SetAsideItem {
  std::int64_t number = 0;  // of the source's item, from 0
  std::string name;         // of the source's item
  std::string step, reason;
};

struct FlowReport {
  double seconds = 0;
  std::vector<FlowStepReport> steps;    // the source first, the sink last
  std::vector<SetAsideItem> set_aside;  // in the order of the source
};

struct FlowOptions {
  /// Items reach every step's queue, and the sink, in the order of the source. Otherwise as they come, which doesn't
  /// make quick items wait for a slow one.
  bool keep_order = true;
};

/// A source without its types: the next value, or null at the end, and its name ("" = by its number).
struct FlowSource {
  FlowStep step;
  std::function<std::shared_ptr<void>(std::string& name)> next = {};
};

/// A step without its types.
struct FlowStage {
  FlowStep step;
  std::size_t batch = 1;  // items that are taken at once
  std::function<std::vector<std::shared_ptr<void>>(std::vector<FlowItem>& items, int worker)> work = {};
};

/// A source, steps and a sink, ready to run. Threads exist only while run() does.
class Flow {
 public:
  /// See flow_from, which puts flows together. Throws Error for numbers that can't be.
  Flow(FlowSource source, std::vector<FlowStage> stages);

  /// Returns when the last item has gone through. The sink's work is done by the calling thread. Throws what a source,
  /// step or sink threw first, as Error (or UsageError, engine::OutOfMemory) with the name of the step and of the item
  /// before its message; Interrupted when a stop was requested (base/stop.h). Then all workers end after the items that
  /// they have in hand, and what waits in queues is dropped. What the sink got before is the beginning of the whole
  /// where order is kept.
  void run(const FlowOptions& options = {});

  /// Of the last run, also of one that threw.
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

/// The only item of a handful, as the type that the step before made.
template <class Item>
Item only_item(std::vector<FlowItem>& items) {
  return std::move(*static_cast<Item*>(items.front().value.get()));
}

/// A flow that is being put together, up to a point where items of type Item come out. All workers of a step call the
/// same work at the same time, which therefore has to be safe to be called so; what it captures has to be copyable.
/// `kBatched`: items are collected here, so a step has to come before they can be collected again.
template <class Item, bool kBatched = false>
class FlowOf {
 public:
  /// What the next step's work is called with, made of the items that it takes from the queue.
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
  /// returns as many results, result i bears the name of item i of the batch; otherwise each bears all names.
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

  /// The next step takes `items` of them at once; fewer only at the end. It fails for all of them or for none.
  FlowOf<std::vector<Item>, true> batch(std::size_t items) && requires(!kBatched) {
    const auto collect = [](std::vector<FlowItem>& taken) {
      std::vector<Item> batch;
      for (FlowItem& item : taken) batch.push_back(std::move(*static_cast<Item*>(item.value.get())));
      return batch;
    };
    return {std::move(source_), std::move(stages_), items, collect};
  }

  /// The end: `work` is called with each item by the thread that runs the flow.
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

/// Begins a flow. A thread of the flow's own calls `next` until it returns nothing. `name_of`: what messages and the
/// report call an item, such as its file; without it they number the items.
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
