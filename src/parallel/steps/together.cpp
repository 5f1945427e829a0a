#include "parallel/steps/together.h"

#include "base/phase.h"

namespace evener::parallel {

void JointSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::BatchShare of{share.begin, share.whole, context_.members};
  result.take(
      context_.offers.together->step_together(*share.batch, of, gradient_weight(context_, share), learning_rate));
  context_.pace.catch_up();
  exchange_seconds(result);
}

/// Every replica puts its time at its own slot, so that the sum has them all. When this returns, all have done the
/// step.
void JointSteps::exchange_seconds(StepResult& result) const {
  const double seconds = context_.pace.seconds();
  const PhaseMark mark(Phase::kExchange);
  result.seconds.assign(static_cast<std::size_t>(context_.channels.control->size()), 0.0);
  result.seconds[static_cast<std::size_t>(context_.channels.control->rank())] = seconds;
  context_.channels.sums->all_reduce(result.seconds);
}

}  // namespace evener::parallel
