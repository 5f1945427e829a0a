#include "parallel/steps/pipelined.h"

#include <utility>

namespace evener::parallel {

PipelinedSteps::PipelinedSteps(StepContext given, Pipeline& pipeline)
    : GradientSteps(std::move(given)), pipeline_(pipeline) {
  if (context().replicas == 1 && !context().always_exchange) return;
  exchange_.emplace(exchange_of(context()), *context().channels.gradients, context().sizes, context().wire);
  watch_gradients();
}

engine::Sums PipelinedSteps::add_gradients(const StepShare& share, double weight) {
  if (share.batch->count > 0) return pipeline_.train(*share.batch, weight, [this] { final_part_begins(); });
  final_part_begins();
  return context().trainer.add_gradients(*share.batch, weight);  // zeros, for the other replicas
}

void PipelinedSteps::begin_gradients() {
  if (exchange_) exchange_->begin();
}

void PipelinedSteps::gradient_ready(std::size_t parameter) {
  if (exchange_) exchange_->ready(parameter);
}

void PipelinedSteps::finish_gradients() {
  pipeline_.end_step();
  if (exchange_) exchange_->finish();
}

}  // namespace evener::parallel
