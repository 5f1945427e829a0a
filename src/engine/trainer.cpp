#include "engine/trainer.h"

#include <cmath>

#include "engine/capabilities.h"

namespace evener::engine {

StepReport Trainer::step(const data::Batch& batch, double weight, double learning_rate) {
  if (StepsAhead* ahead = capabilities().ahead) return ahead->step_ahead(batch, weight, learning_rate);
  return step_by_parts(batch, weight, learning_rate);
}

StepReport Trainer::settle() {
  StepsAhead* ahead = capabilities().ahead;
  return ahead != nullptr ? ahead->settle_steps() : StepReport{};
}

std::optional<std::uint32_t> culprit_of(const Capabilities& capabilities) {
  return capabilities.detector != nullptr ? capabilities.detector->culprit() : std::nullopt;
}

StepReport Trainer::step_by_parts(const data::Batch& batch, double weight, double learning_rate) {
  StepReport report{forward_backward(batch, weight), 1, true};
  if (!std::isfinite(report.sums.total("loss"))) return {{}, 0, false, culprit_of(capabilities())};
  apply(learning_rate);
  return report;
}

}  // namespace evener::engine
