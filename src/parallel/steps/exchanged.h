// Replicas that add up their gradients, in buckets and while later ones are still computed, and then each do the whole
// update.
#pragma once

#include "parallel/buckets.h"
#include "parallel/steps/gradients.h"

namespace evener::parallel {

class ExchangedGradientSteps : public GradientSteps {
 public:
  explicit ExchangedGradientSteps(StepContext context);

 protected:
  void begin_gradients() override { exchange_.begin(); }
  void gradient_ready(std::size_t parameter) override { exchange_.ready(parameter); }
  void finish_gradients() override { exchange_.finish(); }

 private:
  Exchange exchange_;
};

}  // namespace evener::parallel
