#include "engine/torch/whole_steps.h"

#include <utility>

#include "base/phase.h"
#include "base/statistics.h"
#include "engine/torch/device.h"

namespace evener::engine::torch_engine {
namespace {

/// Warm-up steps, which allocate memory and choose algorithms.
constexpr int kWarmUpSteps = 3;
/// Steps after the warm-up that are timed phase by phase, before a graph is captured: phases in a graph can't be told
/// apart.
constexpr int kTimedSteps = 5;
/// Only steps among the first kMostTimed of a run are timed.
constexpr std::int64_t kMostTimed = 1000;
/// Steps whose results aren't waited for: the one that computes, and the next one behind it.
constexpr std::size_t kUnderWay = 2;
static_assert(kUnderWay < Feed::kSlots);

}  // namespace

WholeSteps::Result::Result(const Streams& streams, std::int64_t numbers)
    : values(at::empty({numbers}, at::TensorOptions().dtype(at::kDouble).pinned_memory(streams.asynchronous()))),
      landed(streams) {}

WholeSteps::Timing::Timing(const Streams& streams) {
  for (int i = 0; i < 4; ++i) moments.emplace_back(streams, /*timed=*/true);
}

WholeSteps::WholeSteps(const Streams& streams, Feed& feed, const TorchCriterion& criterion, DeviceExchange* exchange,
                       StepWork work, std::string graph_refusal, std::function<std::unique_ptr<StepGraph>()> make_graph)
    : streams_(streams),
      feed_(feed),
      criterion_(criterion),
      exchange_(exchange),
      work_(std::move(work)),
      graph_refusal_(std::move(graph_refusal)),
      make_graph_(std::move(make_graph)),
      results_(at::zeros({static_cast<std::int64_t>(criterion.names().size()) + 1},
                         at::TensorOptions().dtype(at::kDouble).device(streams.device()))),
      stopped_(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(streams.device()))) {
  for (std::size_t i = 0; i <= kUnderWay; ++i) ring_.emplace_back(streams, results_.numel());
}

StepReport WholeSteps::run(const data::Batch& batch, double weight, double learning_rate,
                           const std::optional<Shared>& shared) {
  try {
    start(batch, weight, learning_rate, shared);
  } catch (const c10::OutOfMemoryError&) {
    // Out of memory: a graph keeps the memory of a whole step, which may leave too little for a batch of another size.
    // So the graph is dropped and the step tried again, but not where replicas exchange: sums of the step may be under
    // way already.
    if (!graph_ || updating_ || exchange_ != nullptr) throw;
    StepReport report = report_until(0);
    drop_graph();
    graph_refusal_ = "the memory of their graph was needed for a batch of another size";
    if (!report.finite) return report;
    start(batch, weight, learning_rate, shared);
    return report;
  }
  return report_until(kUnderWay);
}

void WholeSteps::start(const data::Batch& batch, double weight, double learning_rate,
                       const std::optional<Shared>& shared) {
  feed_.time_copies(!graph_ && steps_ < kMostTimed);
  Feed::Slot& slot = feed_.put(batch, /*training=*/true, learning_rate, weight);
  const bool absent = shared && shared->absent;
  const bool used_to_it = !absent && eager_steps(slot.layout) >= kWarmUpSteps + kTimedSteps;
  // The graph should be that of the largest batches, but smaller ones at an epoch's end may have come first.
  const bool pays = !graph_ || slot.layout.bytes() > graph_layout_.bytes();
  if (graph_refusal_.empty() && used_to_it && pays) capture(slot);
  if (graph_ && slot.layout == graph_layout_ && !absent) {
    replay(slot);
  } else {
    run_eagerly(slot, absent);
  }
  ++steps_;
  send_results(batch, shared ? shared->counted : slot.count);
}

int& WholeSteps::eager_steps(const BatchLayout& layout) {
  for (auto& [known, steps] : eager_steps_) {
    if (known == layout) return steps;
  }
  return eager_steps_.emplace_back(layout, 0).second;
}

void WholeSteps::restart() {
  report_until(0);
  stopped_.zero_();
}

/// The criterion's sums over all replicas' samples, and the number of replicas whose loss is not finite: float64 (names
/// + 1).
at::Tensor WholeSteps::sums_of(const CriterionResult& found, bool absent) {
  std::vector<at::Tensor> numbers;
  for (const at::Tensor& sum : found.sums) numbers.push_back(sum.to(at::kDouble));
  numbers.push_back(found.loss.detach().isfinite().logical_not().to(at::kDouble));
  at::Tensor sums = at::stack(numbers);
  if (absent) sums.zero_();
  if (exchange_ != nullptr) exchange_->add_up(sums);
  return sums;
}

void WholeSteps::do_step(const BatchTensors& batch, Timing* timing, bool absent) {
  const auto passing = [&](std::size_t border) {
    if (timing != nullptr) timing->moments[border].record(streams_.compute());
  };
  updating_ = false;
  passing(0);
  CriterionResult found;
  {
    const PhaseMark mark(Phase::kForward);
    found = work_.forward(batch);
  }
  passing(1);
  {
    const PhaseMark mark(Phase::kBackward);
    work_.backward(found.loss, batch.numbers[1]);
  }
  passing(2);
  {
    const PhaseMark mark(Phase::kUpdate);
    updating_ = true;
    const std::int64_t names = results_.numel() - 1;
    at::Tensor sums = sums_of(found, absent);
    stopped_.copy_(at::maximum(stopped_, sums[names].clamp_max(1)));
    work_.update(batch.numbers[0], stopped_);
    at::Tensor stopped = stopped_.to(at::kDouble);
    if (found.of_images.defined() && !absent) stopped = stopped * (1 + culprit_of(found.of_images));
    sums[names].copy_(stopped);
    results_.copy_(sums);
    updating_ = false;
  }
  passing(3);
}

void WholeSteps::run_eagerly(Feed::Slot& slot, bool absent) {
  const int before = absent ? 0 : eager_steps(slot.layout)++;
  const bool timed = streams_.asynchronous() && !graph_ && steps_ < kMostTimed && before >= kWarmUpSteps &&
                     before < kWarmUpSteps + kTimedSteps;
  if (timed) {
    timing_ = std::make_unique<Timing>(streams_);
    timing_->slot = &slot;
  }
  if (graph_ && before == 0 && exchange_ == nullptr) {
    try_eagerly(slot);
  } else {
    do_step(slot.batch, timed ? timing_.get() : nullptr, absent);
  }
  feed_.release(slot);
  if (timed) take_times();
}

/// Does a step kernel by kernel. If there is too little memory, restores everything that it changed except by the
/// update, and rethrows.
void WholeSteps::try_eagerly(Feed::Slot& slot) {
  std::vector<at::Tensor> before;
  for (const at::Tensor& each : work_.statistics) before.push_back(each.clone());
  try {
    do_step(slot.batch, nullptr);
  } catch (const c10::OutOfMemoryError&) {
    for (std::size_t i = 0; i < before.size(); ++i) at::Tensor(work_.statistics[i]).copy_(before[i]);
    --eager_steps(slot.layout);
    throw;
  }
}

/// Frees the graph after waiting for its replays.
void WholeSteps::drop_graph() {
  if (!graph_) return;
  Moment done(streams_);
  done.record(streams_.compute());
  done.wait();
  graph_.reset();
  graph_block_.reset();
  release_memory(streams_.device());
}

/// Times the phases of a step. Waits for the step, so that the copy of its batch is timed without overlapping work.
void WholeSteps::take_times() {
  const auto& moments = timing_->moments;
  moments.back().wait();
  times_s_["h2d"].push_back(timing_->slot->copy_end.seconds_since(timing_->slot->copy_begin));
  times_s_["forward"].push_back(moments[1].seconds_since(moments[0]));
  times_s_["backward"].push_back(moments[2].seconds_since(moments[1]));
  times_s_["update"].push_back(moments[3].seconds_since(moments[2]));
  timing_.reset();
}

/// Captures a step without doing it. If that fails, steps go on kernel by kernel.
void WholeSteps::capture(const Feed::Slot& slot) {
  drop_graph();
  graph_layout_ = slot.layout;
  graph_block_ = at::empty({graph_layout_.bytes()}, slot.device.options());
  const BatchTensors batch = graph_layout_.parts_of(graph_block_);
  // A graph has memory of its own, but cached memory of eager steps can't be released during a capture: it is released
  // before.
  release_memory(streams_.device());
  auto graph = make_graph_();
  try {
    graph->capture([&, batch] { do_step(batch, nullptr); });
    graph_ = std::move(graph);
  } catch (const c10::Error& error) {
    graph_refusal_ = is_out_of_memory(error) ? "there was no memory for a graph beside what single kernels need"
                                             : "capturing a step failed: " + first_line(error);
    graph_block_.reset();
  }
}

void WholeSteps::replay(Feed::Slot& slot) {
  const PhaseMark mark(Phase::kForward);
  graph_block_.copy_(slot.device, /*non_blocking=*/true);
  feed_.release(slot);
  graph_->replay();
}

void WholeSteps::send_results(const data::Batch& batch, std::int64_t count) {
  Result& result = ring_[next_result_++ % ring_.size()];
  result.values.copy_(results_, /*non_blocking=*/true);
  result.landed.record(streams_.compute());
  result.count = count;
  result.samples.assign(batch.samples.begin(), batch.samples.end());
  pending_.push_back(&result);
}

StepReport WholeSteps::report_until(std::size_t left) {
  StepReport report;
  const PhaseMark mark(Phase::kD2H);
  while (pending_.size() > left) {
    const Result& result = *pending_.front();
    pending_.pop_front();
    result.landed.wait();
    const double* values = result.values.const_data_ptr<double>();
    if (const double stopped = values[criterion_.names().size()]; stopped != 0) {
      report.finite = false;
      if (stopped > 1) report.culprit = result.samples.at(static_cast<std::size_t>(stopped) - 2);
      for (; !pending_.empty(); pending_.pop_front()) pending_.front()->landed.wait();
      break;
    }
    report.sums += criterion_.sums_of(values, result.count);
    ++report.steps;
  }
  return report;
}

std::map<std::string, double> WholeSteps::phases_s() const {
  std::map<std::string, double> phases;
  for (const auto& [name, times] : times_s_) phases[name] = median(times).value_or(0);
  return phases;
}

std::string WholeSteps::note() const {
  if (steps_ == 0) return "";
  if (graph_) return "whole steps were replayed as a graph (--step-graph)";
  if (!graph_refusal_.empty()) return "steps were started kernel by kernel: " + graph_refusal_;
  return "steps were started kernel by kernel: there were too few of one size to capture one";
}

}  // namespace evener::engine::torch_engine
