// Replicas that add up their gradients, in buckets and while later ones are still computed, and then each do the whole
// update. A lone one has nobody to add up with.
#pragma once

#include <optional>

#include "parallel/exchange.h"
#include "parallel/steps/gradients.h"

namespace evener::parallel {

class ExchangedGradientSteps : public GradientSteps {
 public:
  explicit ExchangedGradientSteps(StepContext context);

 protected:
  void begin_gradients() override;
  void gradient_ready(std::size_t parameter) override;
  void finish_gradients() override;

 private:
  std::optional<Exchange> exchange_;  // nothing: of a lone replica
};

}  // namespace evener::parallel
