#include "parallel/steps/alone.h"

namespace evener::parallel {

void StepsAlone::step(const StepShare& share, double learning_rate, StepResult& result) {
  result.take(context_.trainer.step(*share.batch, gradient_weight(context_, share), learning_rate));
  result.seconds = {context_.pace.seconds()};
}

}  // namespace evener::parallel
