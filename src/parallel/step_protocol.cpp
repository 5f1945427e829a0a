#include "parallel/step_protocol.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/phase.h"
#include "parallel/step_kinds.h"

namespace evener::parallel {

void StepResult::take(engine::StepReport report) {
  sums = std::move(report.sums);
  steps = report.steps;
  applied = report.finite;
  culprit = report.culprit;
}

std::int64_t loss_count(const StepContext& context, const StepShare& share) {
  if (context.capabilities.detector == nullptr) return share.whole;
  auto matches = static_cast<double>(context.capabilities.detector->matches(*share.batch));
  if (context.channels.control->size() > 1) {
    context.throttle.catch_up();
    const PhaseMark mark(Phase::kExchange);
    const Stopwatch waiting;
    context.channels.sums->all_reduce(std::span(&matches, 1));
    context.throttle.exclude(waiting.seconds());
  }
  return static_cast<std::int64_t>(matches);
}

double gradient_weight(const StepContext& context, const StepShare& share) {
  return 1 / static_cast<double>(std::max<std::int64_t>(1, loss_count(context, share)));
}

std::unique_ptr<StepProtocol> choose_protocol(StepContext context) {
  if (context.pipeline != nullptr) {
    Pipeline& pipeline = *context.pipeline;
    return std::make_unique<PipelinedSteps>(std::move(context), pipeline);
  }
  const bool lone = context.channels.control->size() == 1;
  const bool on_devices = context.capabilities.on_devices != nullptr;
  const bool exchanges = !on_devices && (context.always_exchange || (!lone && !context.capabilities.shares_arrays()));
  // Trainers do whole steps only without micro-batches and without emulated speed, which need control inside a step.
  const bool whole = context.accumulate == 1 && !context.emulates_speed;
  if (on_devices && whole) return std::make_unique<DeviceSteps>(std::move(context));
  if (lone && !exchanges && whole) return std::make_unique<StepsAlone>(std::move(context));
  if (context.capabilities.together != nullptr) return std::make_unique<JointSteps>(std::move(context));
  if (context.capabilities.sharing != nullptr) return std::make_unique<SharedArraySteps>(std::move(context));
  if (exchanges) return std::make_unique<ExchangedGradientSteps>(std::move(context));
  return std::make_unique<GradientSteps>(std::move(context));
}

}  // namespace evener::parallel
