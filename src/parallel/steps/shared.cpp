#include "parallel/steps/shared.h"

#include "base/phase.h"

namespace evener::parallel {

void SharedArraySteps::update(double learning_rate) {
  context().offers.sharing->apply_part(learning_rate, context().members);
  const PhaseMark mark(Phase::kExchange);
  context().channels.gradients->barrier();
}

}  // namespace evener::parallel
