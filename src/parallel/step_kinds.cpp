#include "parallel/step_kinds.h"

#include <vector>

#include "base/phase.h"

namespace evener::parallel {

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
