#include "parallel/steps/protocol.h"

#include <utility>

#include "parallel/steps/alone.h"
#include "parallel/steps/exchanged.h"
#include "parallel/steps/gradients.h"
#include "parallel/steps/shared.h"
#include "parallel/steps/together.h"

namespace evener::parallel {

void StepResult::take(engine::StepReport report) {
  sums = std::move(report.sums);
  steps = report.steps;
  applied = report.finite;
}

std::unique_ptr<StepProtocol> choose_protocol(StepContext context) {
  const bool lone = context.channels.control->size() == 1;
  const bool exchanges = context.always_exchange || (!lone && !context.offers.shares_arrays());
  // Only a step that nobody looks into is left to the trainer as a whole.
  if (lone && !exchanges && context.accumulate == 1 && !context.emulates_speed) {
    return std::make_unique<StepsAlone>(std::move(context));
  }
  if (context.offers.together != nullptr) return std::make_unique<JointSteps>(std::move(context));
  if (context.offers.sharing != nullptr) return std::make_unique<SharedArraySteps>(std::move(context));
  if (exchanges) return std::make_unique<ExchangedGradientSteps>(std::move(context));
  return std::make_unique<GradientSteps>(std::move(context));
}

}  // namespace evener::parallel
