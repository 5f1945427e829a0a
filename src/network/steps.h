// The steps in which the torch engine computes a Network: its layers in order, of which neighbours that one kernel
// computes form one step.
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
  std::vector<int> dead;    // layers whose output is read by no later step
};

/// Which layers are fused with those that follow: none, so that each layer is a step; batch normalisations, with a sum
/// of two values and with ReLU or ReLU6; or, for inference, also convolutions, with such a sum and any activation.
enum class Join { kNothing, kBatchNorm, kConvolutionToo };

/// The steps in the order of computation. Batch normalisations come in the same order whatever is joined: replicas that
/// join differently exchange their statistics in that order.
std::vector<Step> plan_steps(const Network& network, Join join);

}  // namespace evener::network
