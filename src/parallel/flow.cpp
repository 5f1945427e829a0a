#include "parallel/flow.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "engine/engine.h"

namespace evener::parallel {
namespace {

/// How often the thread of the sink looks for a stop request while it waits for items.
constexpr double kLook_s = 0.05;

/// Calls `body`, and adds the seconds that it takes to `sum_s`.
template <class Body>
auto timed(double& sum_s, Body body) {
  const Stopwatch clock;
  struct Adder {
    double& sum_s;
    const Stopwatch& clock;
    ~Adder() { sum_s += clock.seconds(); }
  } const adder{sum_s, clock};
  return body();
}

using Origins = std::vector<std::shared_ptr<const FlowOrigin>>;

/// The origins of all items, each once; items of the same origin are neighbours.
Origins origins_of(const std::vector<FlowItem>& items) {
  Origins origins;
  for (const FlowItem& item : items) {
    for (const auto& origin : item.origins) {
      if (origins.empty() || origins.back() != origin) origins.push_back(origin);
    }
  }
  return origins;
}

/// "step 'run', items 'a.jpg' to 'd.jpg': ".
std::string place_text(const FlowStep& step, const Origins& origins) {
  std::string text = "step '" + step.name + "'";
  if (!origins.empty()) text += (origins.size() > 1 ? ", items '" : ", item '") + origins.front()->name + "'";
  if (origins.size() > 1) text += " to '" + origins.back()->name + "'";
  return text + ": ";
}

/// Rethrows the exception being handled with `place` before its message. Interrupted, std::bad_alloc (which has no
/// message) and OutputError (for which no item is to blame) are rethrown unchanged.
[[noreturn]] void rethrow_from(const std::string& place) {
  try {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const OutputError&) {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(place + error.what());
  } catch (const engine::OutOfMemory& error) {
    throw engine::OutOfMemory(place + error.what());
  } catch (const std::exception& error) {
    throw Error(place + error.what());
  }
}

/// Whether an error concerns only the item, and not the machine or the user's options.
bool is_about_the_item(const std::exception& error) {
  const auto* e = &error;
  return dynamic_cast<const Error*>(e) != nullptr && dynamic_cast<const Interrupted*>(e) == nullptr &&
         dynamic_cast<const UsageError*>(e) == nullptr && dynamic_cast<const OutputError*>(e) == nullptr &&
         dynamic_cast<const engine::OutOfMemory*>(e) == nullptr;
}

void require(bool good, const FlowStep& step, const std::string& what) {
  if (!good) throw Error("step '" + step.name + "' of a flow " + what);
}

/// One run of a flow, with its queues, threads and report. Queue s is before stage s.
class FlowRun {
 public:
  FlowRun(const FlowSource& source, const std::vector<FlowStage>& stages, const FlowOptions& options,
          FlowReport& report)
      : source_(source), stages_(stages), report_(report), workers_left_(stages.size()) {
    report_ = {};
    report_.steps.push_back({source.step.name, std::vector<FlowWorkerReport>(1), std::nullopt});
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const FlowStep& step = stages[s].step;
      queues_.push_back(std::make_unique<FlowQueue>(std::max(step.capacity, stages[s].batch), options.keep_order));
      const auto workers = static_cast<std::size_t>(step.workers);
      report_.steps.push_back({step.name, std::vector<FlowWorkerReport>(workers), std::nullopt});
      workers_left_[s] = step.workers;
    }
  }

  void execute() {
    const Stopwatch clock;
    try {
      start();
    } catch (...) {
      fail();
    }
    work(stages_.size() - 1, 0);
    threads_.clear();  // joins: all workers have ended by now, or end because the flow was cancelled
    report_.seconds = clock.seconds();
    for (std::size_t s = 0; s < queues_.size(); ++s) {
      const FlowQueue& queue = *queues_[s];
      report_.steps[s + 1].queue = FlowQueueReport{queue.capacity(), queue.mean_depth(), queue.max_depth()};
    }
    // In the order of the source.
    std::ranges::sort(report_.set_aside, {},
                      [](const SetAsideItem& item) { return std::tie(item.number, item.step, item.reason); });
    if (failure_) std::rethrow_exception(failure_);
    if (!cancelled_) return;
    const std::int64_t done = report_.steps.back().workers.front().items;
    throw Interrupted("interrupted after " + counted(done, "item"));
  }

 private:
  void start() {
    threads_.emplace_back(as_this_work([this] { hand_out(); }));
    for (std::size_t s = 0; s + 1 < stages_.size(); ++s) {
      for (int worker = 0; worker < stages_[s].step.workers; ++worker) {
        threads_.emplace_back(as_this_work([this, s, worker] { work(s, worker); }));
      }
    }
  }

  /// The life of the source's thread.
  void hand_out() {
    FlowWorkerReport& figures = report_.steps.front().workers.front();
    try {
      while (!ended()) {
        std::optional<FlowItem> item = timed(figures.busy_s, [&] { return next_item(figures.items); });
        if (!item) break;
        const std::int64_t place = figures.items++;
        std::vector<FlowItem> items;
        items.push_back(std::move(*item));
        if (!timed(figures.wait_room_s, [&] { return queues_.front()->put(place, std::move(items)); })) break;
      }
    } catch (...) {
      fail();
    }
    queues_.front()->close();
  }

  std::optional<FlowItem> next_item(std::int64_t number) {
    auto origin = std::make_shared<FlowOrigin>();
    origin->number = number;
    try {
      const std::optional<PhaseMark> mark = mark_of(source_.step);
      std::shared_ptr<void> value = source_.next(origin->name);
      if (!value) return std::nullopt;
      if (origin->name.empty()) origin->name = std::to_string(number);
      return FlowItem{std::move(value), {std::move(origin)}};
    } catch (...) {
      rethrow_from("step '" + source_.step.name + "', after " + std::to_string(number) + " items: ");
    }
  }

  /// The life of a worker of stage s. The sink is the last stage, and its worker the thread that runs the flow.
  void work(std::size_t s, int worker) {
    const bool sink = s + 1 == stages_.size();
    FlowWorkerReport& figures = report_.steps[s + 1].workers[static_cast<std::size_t>(worker)];
    try {
      while (!ended()) {
        if (leaves(s, worker)) return;
        auto handful = timed(figures.wait_input_s, [&] { return take(s, sink); });
        if (!handful) break;
        auto results = timed(figures.busy_s, [&] { return results_of(s, handful->items, worker); });
        figures.items += static_cast<std::int64_t>(handful->items.size());
        if (sink) continue;
        const auto put = [&] { return queues_[s + 1]->put(handful->place, std::move(results)); };
        if (!timed(figures.wait_room_s, put)) break;
      }
    } catch (...) {
      fail();
    }
    if (--workers_left_[s] == 0 && !sink) queues_[s + 1]->close();
  }

  /// Whether the worker ends early and leaves the rest to others. If so, it no longer counts as left.
  bool leaves(std::size_t s, int worker) {
    const FlowStep& step = stages_[s].step;
    int left = workers_left_[s];
    if (!step.goes_on || left == 1 || step.goes_on(worker)) return false;
    while (left > 1) {
      if (workers_left_[s].compare_exchange_weak(left, left - 1)) return true;
    }
    return false;
  }

  std::optional<FlowQueue::Handful> take(std::size_t s, bool sink) {
    const std::size_t most = stages_[s].batch;
    // The sink's thread checks for stop requests, on behalf of all workers that wait.
    while (sink && !queues_[s]->wait_to_take(most, kLook_s)) ended();
    return queues_[s]->take(most);
  }

  /// The results of the work; absent if the items were set aside.
  std::vector<FlowItem> results_of(std::size_t s, std::vector<FlowItem>& items, int worker) {
    const FlowStage& stage = stages_[s];
    std::vector<std::shared_ptr<void>> values;
    try {
      const std::optional<PhaseMark> mark = mark_of(stage.step);
      values = stage.work(items, worker);
    } catch (const std::exception& error) {
      if (stage.step.on_failure != OnFailure::kSetAside || !is_about_the_item(error)) {
        rethrow_from(place_text(stage.step, origins_of(items)));
      }
      set_aside(stage.step, items, error.what());
    }
    const bool one_each = values.size() == items.size();
    std::vector<FlowItem> results;
    for (std::size_t i = 0; i < values.size(); ++i) {
      results.push_back({std::move(values[i]), one_each ? items[i].origins : origins_of(items)});
    }
    return results;
  }

  static std::optional<PhaseMark> mark_of(const FlowStep& step) {
    return step.phase ? std::optional<PhaseMark>(std::in_place, *step.phase) : std::nullopt;
  }

  /// Whether the flow was cancelled; a stop request cancels it.
  bool ended() {
    if (!cancelled_ && stop_requested()) cancel();
    return cancelled_;
  }

  /// Ends the flow with the exception being handled, unless another one came first.
  void fail() {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    cancel();
  }

  void cancel() {
    cancelled_ = true;
    for (const auto& queue : queues_) queue->cancel();
  }

  void set_aside(const FlowStep& step, const std::vector<FlowItem>& items, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    for (const auto& origin : origins_of(items)) {
      report_.set_aside.push_back({origin->number, origin->name, step.name, reason});
    }
  }

  const FlowSource& source_;
  const std::vector<FlowStage>& stages_;
  FlowReport& report_;
  std::vector<std::unique_ptr<FlowQueue>> queues_;
  std::vector<std::atomic<int>> workers_left_;  // of each stage
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;            // of what follows, and of the report's list of items that were set aside
  std::exception_ptr failure_;  // the first
  std::vector<std::jthread> threads_;
};

}  // namespace

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

Flow::Flow(FlowSource source, std::vector<FlowStage> stages) : source_(std::move(source)), stages_(std::move(stages)) {
  require(source_.step.workers == 1, source_.step, "is its source, which has one worker");
  for (const FlowStage& stage : stages_) {
    require(stage.step.workers >= 1, stage.step,
            "has " + std::to_string(stage.step.workers) + " workers; it needs at least one");
    require(stage.step.capacity >= 1, stage.step, "has a queue without room; it needs room for at least one item");
    require(stage.batch >= 1, stage.step, "takes batches of 0 items; a batch has at least one");
  }
  require(stages_.back().step.workers == 1, stages_.back().step, "is its sink, which has one worker");
}

void Flow::run(const FlowOptions& options) {
  FlowRun(source_, stages_, options, report_).execute();
}

}  // namespace evener::parallel
