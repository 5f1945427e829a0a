// In which steps the torch engine computes a Network: its layers in order, with the neighbours that one kernel does
// together.
#pragma once

#include <vector>

#include "network/network.h"

namespace evener::network {

/// One layer, or a layer with the sum and the activation that follow it.
struct Step {
  int layer = 0;            // the first; its tensors are used
  int output = 0;           // the last; the step's result is its output
  std::vector<int> inputs;  // layers whose outputs are read: the first layer's, then the sum's other term
  int activation = -1;      // layer; -1 = none
  bool overwrites = false;  // may work in place on its first input
  std::vector<int> dead;    // layers whose output nobody needs after this step
};

/// Which layers are joined with what follows them: none, so that each layer is a step; batch normalisations, with a sum
/// of two and ReLU or ReLU6; or in inference also convolutions, with such a sum and any activation.
enum class Join { kNothing, kBatchNorm, kConvolutionToo };

/// In the order in which they are computed, in which batch normalisations follow each other alike whatever is joined.
std::vector<Step> plan_steps(const Network& network, Join join);

}  // namespace evener::network
