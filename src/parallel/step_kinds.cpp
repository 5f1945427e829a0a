#include "parallel/step_kinds.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/phase.h"

namespace evener::parallel {

Exchange::Exchange(engine::ExchangesGradients& gradients, comm::Communicator& communicator,
                   const std::vector<std::size_t>& sizes, comm::CommunicationDtype communication_dtype)
    : gradients_(gradients), communicator_(communicator), dtype_(communication_dtype), progress_(sizes) {}

void Exchange::begin() {
  progress_.begin();
  pending_.clear();
}

void Exchange::ready(std::size_t parameter) {
  progress_.ready(parameter);
  if (progress_.buckets().size() == 1) return;
  while (const engine::Bucket* bucket = progress_.take_complete()) launch(*bucket);
}

std::vector<std::span<float>> Exchange::gradients_of(const engine::Bucket& bucket) const {
  std::vector<std::span<float>> parts;
  for (std::size_t i = bucket.first; i <= bucket.last; ++i) parts.push_back(gradients_.gradient(i));
  return parts;
}

void Exchange::launch(const engine::Bucket& bucket) {
  pending_.push_back(thread_.run([this, parts = gradients_of(bucket)] {
    const PhaseMark mark(Phase::kExchange);
    communicator_.all_reduce(parts, dtype_);
  }));
}

void Exchange::finish() {
  const PhaseMark mark(Phase::kExchange);
  if (progress_.buckets().size() == 1) {
    communicator_.all_reduce(gradients_of(progress_.buckets().front()), dtype_);
  } else {
    while (const engine::Bucket* bucket = progress_.take_next()) launch(*bucket);
  }
  for (auto& pending : pending_) pending.wait();
  pending_.clear();
}

engine::ExchangesGradients& exchange_of(const StepContext& context) {
  if (context.capabilities.exchange != nullptr) return *context.capabilities.exchange;
  throw Error(
      "this engine's trainer gives no gradients away, which replicas that train together have to exchange; use "
      "another --engine, or one replica");
}

GradientSteps::GradientSteps(StepContext context) : context_(std::move(context)) {
  if (context_.emulates_speed) watch_gradients();
}

void GradientSteps::watch_gradients() {
  exchange_of(context_).on_gradient_ready([this](std::size_t parameter) {
    if (!computing_) return;
    context_.throttle.catch_up();
    if (last_part_) gradient_ready(parameter);
  });
}

void GradientSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::Sums own = compute_gradients(share);
  context_.throttle.catch_up();
  sum_losses(own, result);
  finish_gradients();
  result.steps = 1;
  result.applied = std::isfinite(result.sums.total("loss"));
  if (result.applied) return update(learning_rate);
  result.sums = {};
  result.steps = 0;
}

void GradientSteps::set_last_part(bool last) {
  last_part_ = last;
  if (context_.capabilities.exchange != nullptr) context_.capabilities.exchange->gradients_become_final(last);
}

engine::Sums GradientSteps::compute_gradients(const StepShare& share) {
  engine::Sums sums = context_.nothing;
  const double weight = gradient_weight(context_, share);
  context_.trainer.clear_gradients();
  begin_gradients();
  computing_ = true;
  set_last_part(false);
  sums += add_gradients(share, weight);
  computing_ = false;
  return sums;
}

/// All replicas compute the micro-batches in the same order, each its part of every one, so that batch-norm's
/// statistics don't depend on the number of replicas.
engine::Sums GradientSteps::add_gradients(const StepShare& share, double weight) {
  engine::Sums sums;
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < share.parts.size(); ++part) {
    const std::int64_t end = begin + share.parts[part];
    if (part + 1 == share.parts.size()) final_part_begins();
    // Even an empty part has to be computed if others wait for this replica's batch-norm sums or gradients.
    if (begin < end || context_.synchronised || last_part_) {
      sums += context_.trainer.add_gradients(data::part_of(*share.batch, begin, end), weight);
    }
    begin = end;
  }
  return sums;
}

/// A single all-reduce does three things: it adds up the sums, and gathers each rank's time and the number (plus 1) of
/// a sample whose loss isn't finite, as each rank puts these into slots of its own.
void GradientSteps::sum_losses(const engine::Sums& own, StepResult& result) const {
  const double seconds = context_.throttle.seconds();
  const PhaseMark mark(Phase::kExchange);
  const std::size_t size = own.packed_size();
  const auto ranks = static_cast<std::size_t>(context_.channels.control->size());
  const auto rank = static_cast<std::size_t>(context_.channels.control->rank());
  std::vector<double> values(size + 2 * ranks, 0.0);
  own.pack(values);
  values[size + rank] = seconds;
  if (const auto culprit = engine::culprit_of(context_.capabilities)) values[size + ranks + rank] = 1.0 + *culprit;
  all_ranks().all_reduce(values);
  result.sums = own;
  result.sums.unpack(values);
  const auto times = values.begin() + static_cast<std::ptrdiff_t>(size);
  // A replica takes as long as its slowest stage.
  const std::size_t stages = ranks / context_.replicas;
  result.seconds.assign(context_.replicas, 0.0);
  for (std::size_t r = 0; r < ranks; ++r) {
    double& longest = result.seconds[r / stages];
    longest = std::max(longest, times[static_cast<std::ptrdiff_t>(r)]);
  }
  result.culprit.reset();
  for (std::size_t r = 0; r < ranks && !result.culprit; ++r) {
    const double named = values[size + ranks + r];
    if (named > 0) result.culprit = static_cast<std::uint32_t>(named - 1);
  }
}

void StepsAlone::step(const StepShare& share, double learning_rate, StepResult& result) {
  result.take(context_.trainer.step(*share.batch, gradient_weight(context_, share), learning_rate));
  result.seconds = {context_.throttle.seconds()};
}

void JointSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::BatchShare of{share.begin, share.whole, context_.members};
  result.take(
      context_.capabilities.together->step_together(*share.batch, of, gradient_weight(context_, share), learning_rate));
  context_.throttle.catch_up();
  exchange_seconds(result);
}

/// Gathers all replicas' times: each puts its own into its slot of an all-reduce. The all-reduce is also a barrier:
/// when it returns, all replicas have done the step.
void JointSteps::exchange_seconds(StepResult& result) const {
  const double seconds = context_.throttle.seconds();
  const PhaseMark mark(Phase::kExchange);
  result.seconds.assign(static_cast<std::size_t>(context_.channels.control->size()), 0.0);
  result.seconds[static_cast<std::size_t>(context_.channels.control->rank())] = seconds;
  context_.channels.sums->all_reduce(result.seconds);
}

void DeviceSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::SharedBatch of{share.whole, loss_count(context_, share)};
  take(context_.capabilities.on_devices->step_on_devices(*share.batch, of, learning_rate), result);
  // Devices wait for each other inside the step, so all are busy for the same time.
  result.seconds.assign(context_.replicas, context_.throttle.seconds());
}

void DeviceSteps::settle(StepResult& result) {
  take(context_.trainer.settle(), result);
}

/// All replicas notice a loss that isn't finite at the same step, but only the one that computed it knows the sample:
/// so it is exchanged.
void DeviceSteps::take(engine::StepReport report, StepResult& result) const {
  result.take(std::move(report));
  if (result.applied || context_.replicas == 1) return;
  const PhaseMark mark(Phase::kExchange);
  std::vector<double> numbers(context_.replicas, 0.0);
  if (result.culprit) numbers[static_cast<std::size_t>(context_.channels.sums->rank())] = 1.0 + *result.culprit;
  context_.channels.sums->all_reduce(numbers);
  for (std::size_t r = 0; r < numbers.size() && !result.culprit; ++r) {
    if (numbers[r] > 0) result.culprit = static_cast<std::uint32_t>(numbers[r] - 1);
  }
}

void SharedArraySteps::update(double learning_rate) {
  context().capabilities.sharing->apply_part(learning_rate, context().members);
  const PhaseMark mark(Phase::kExchange);
  context().channels.gradients->barrier();
}

ExchangedGradientSteps::ExchangedGradientSteps(StepContext given) : GradientSteps(std::move(given)) {
  if (context().replicas == 1 && !context().always_exchange) return;
  exchange_.emplace(exchange_of(context()), *context().channels.gradients, context().sizes,
                    context().communication_dtype);
  watch_gradients();
}

void ExchangedGradientSteps::begin_gradients() {
  if (exchange_) exchange_->begin();
}

void ExchangedGradientSteps::gradient_ready(std::size_t parameter) {
  if (exchange_) exchange_->ready(parameter);
}

void ExchangedGradientSteps::finish_gradients() {
  if (exchange_) exchange_->finish();
}

PipelinedSteps::PipelinedSteps(StepContext given, Pipeline& pipeline)
    : ExchangedGradientSteps(std::move(given)), pipeline_(pipeline) {}

engine::Sums PipelinedSteps::add_gradients(const StepShare& share, double weight) {
  if (share.batch->count > 0) return pipeline_.train(*share.batch, weight, [this] { final_part_begins(); });
  final_part_begins();
  return context().trainer.add_gradients(*share.batch, weight);  // zeros, for the all-reduce
}

void PipelinedSteps::finish_gradients() {
  pipeline_.end_step();
  ExchangedGradientSteps::finish_gradients();
}

}  // namespace evener::parallel
