#include "parallel/steps/protocol.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/phase.h"
#include "parallel/steps/alone.h"
#include "parallel/steps/exchanged.h"
#include "parallel/steps/gradients.h"
#include "parallel/steps/pipelined.h"
#include "parallel/steps/shared.h"
#include "parallel/steps/together.h"

namespace evener::parallel {

void StepResult::take(engine::StepReport report) {
  sums = std::move(report.sums);
  steps = report.steps;
  applied = report.finite;
  culprit = report.culprit;
}

double gradient_weight(const StepContext& context, const StepShare& share) {
  if (context.offers.detector == nullptr) return 1.0 / static_cast<double>(share.whole);
  auto matches = static_cast<double>(context.offers.detector->matches(*share.batch));
  if (context.channels.control->size() > 1) {
    context.pace.catch_up();
    const PhaseMark mark(Phase::kExchange);
    const Stopwatch waiting;
    context.channels.sums->all_reduce(std::span(&matches, 1));
    context.pace.exclude(waiting.seconds());
  }
  return 1 / std::max(1.0, matches);
}

std::unique_ptr<StepProtocol> choose_protocol(StepContext context) {
  if (context.pipeline != nullptr) {
    Pipeline& pipeline = *context.pipeline;
    return std::make_unique<PipelinedSteps>(std::move(context), pipeline);
  }
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
