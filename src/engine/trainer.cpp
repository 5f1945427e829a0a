#include "engine/trainer.h"

#include <cmath>

#include "engine/offers.h"

namespace evener::engine {

StepReport Trainer::step(const data::Batch& batch, double weight, double learning_rate) {
  if (StepsAhead* ahead = offers().ahead) return ahead->step_ahead(batch, weight, learning_rate);
  return step_by_parts(batch, weight, learning_rate);
}

StepReport Trainer::settle() {
  StepsAhead* ahead = offers().ahead;
  return ahead != nullptr ? ahead->settle_steps() : StepReport{};
}

std::optional<std::uint32_t> culprit_of(const Offers& offers) {
  return offers.detector != nullptr ? offers.detector->culprit() : std::nullopt;
}

StepReport Trainer::step_by_parts(const data::Batch& batch, double weight, double learning_rate) {
  StepReport report{forward_backward(batch, weight), 1, true};
  if (!std::isfinite(report.sums.total("loss"))) return {{}, 0, false, culprit_of(offers())};
  apply(learning_rate);
  return report;
}

}  // namespace evener::engine
