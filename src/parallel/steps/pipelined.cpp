#include "parallel/steps/pipelined.h"

#include <utility>

namespace evener::parallel {

PipelinedSteps::PipelinedSteps(StepContext given, Pipeline& pipeline)
    : ExchangedGradientSteps(std::move(given)), pipeline_(pipeline) {}

engine::Sums PipelinedSteps::add_gradients(const StepShare& share, double weight) {
  if (share.batch->count > 0) return pipeline_.train(*share.batch, weight, [this] { final_part_begins(); });
  final_part_begins();
  return context().trainer.add_gradients(*share.batch, weight);  // zeros, for the other replicas
}

void PipelinedSteps::finish_gradients() {
  pipeline_.end_step();
  ExchangedGradientSteps::finish_gradients();
}

}  // namespace evener::parallel
