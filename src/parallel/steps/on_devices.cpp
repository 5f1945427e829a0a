#include "parallel/steps/on_devices.h"

#include <utility>
#include <vector>

#include "base/phase.h"

namespace evener::parallel {

void DeviceSteps::step(const StepShare& share, double learning_rate, StepResult& result) {
  const engine::SharedBatch of{share.whole, loss_count(context_, share)};
  take(context_.offers.on_devices->step_on_devices(*share.batch, of, learning_rate), result);
  // Each is busy for as long as all are, with what it exchanges.
  result.seconds.assign(context_.replicas, context_.pace.seconds());
}

void DeviceSteps::settle(StepResult& result) {
  take(context_.trainer.settle(), result);
}

/// All replicas hear at the same step of a loss that is not finite; only the one that computed it knows whose it is.
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

}  // namespace evener::parallel
