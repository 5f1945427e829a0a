// Replicas whose values and gradients lie in memory that all of them see: each updates its part of the parameters with
// the sum of all members' gradients, and nothing is exchanged.
#pragma once

#include "parallel/steps/gradients.h"

namespace evener::parallel {

class SharedArraySteps : public GradientSteps {
 public:
  using GradientSteps::GradientSteps;

 protected:
  void update(double learning_rate) override;
};

}  // namespace evener::parallel
