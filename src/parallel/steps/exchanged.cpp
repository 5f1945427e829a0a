#include "parallel/steps/exchanged.h"

#include <utility>

namespace evener::parallel {

ExchangedGradientSteps::ExchangedGradientSteps(StepContext given)
    : GradientSteps(std::move(given)),
      exchange_(exchange_of(context()), *context().channels.gradients, context().sizes, context().wire) {
  watch_gradients();
}

}  // namespace evener::parallel
