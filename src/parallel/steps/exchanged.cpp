#include "parallel/steps/exchanged.h"

#include <utility>

namespace evener::parallel {

ExchangedGradientSteps::ExchangedGradientSteps(StepContext given) : GradientSteps(std::move(given)) {
  if (context().replicas == 1 && !context().always_exchange) return;
  exchange_.emplace(exchange_of(context()), *context().channels.gradients, context().sizes, context().wire);
  watch_gradients();
}

void ExchangedGradientSteps::begin_gradients() {
  if (exchange_) exchange_->begin();
}

void ExchangedGradientSteps::gradient_ready(std::size_t parameter) {
  if (exchange_) exchange_->ready(parameter);
}

void ExchangedGradientSteps::finish_gradients() {
  if (exchange_) exchange_->finish();
}

}  // namespace evener::parallel
