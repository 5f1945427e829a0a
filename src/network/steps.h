// The steps in which the torch engine computes a Network: its layers in order, of which neighbours that one kernel
// computes form one step.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// One layer, a layer with the sum and the activation that follow it, or a depthwise convolution with the batch
/// normalisations at its sides: [batch-norm, [ReLU]], convolution, batch-norm, [ReLU], one layer after the other.
struct Step {
  int layer = 0;            // the first; its tensors are used
  int output = 0;           // the last; the step's result is its output
  std::vector<int> inputs;  // layers whose outputs are read: the first layer's, then the sum's other term
  int activation = -1;      // layer, at the end of the step; -1 = none
  int depthwise = -1;       // layer of a depthwise convolution that is joined with batch normalisations; -1 = none
  bool overwrites = false;  // may work in place on its first input
  std::vector<int> dead;    // layers whose output is read by no later step
};

/// Which layers are fused with those that follow: none, so that each layer is a step; batch normalisations, with a sum
/// of two values and with ReLU or ReLU6, and with depthwise convolutions; or, for inference, batch normalisations
/// without the latter, and convolutions, with such a sum and any activation.
enum class Join { kNothing, kBatchNorm, kConvolutionToo };

/// Whether this is one filter per channel without a bias, square, of 3, 5 or 7 taps a side, with one stride and one
/// padding (below the kernel's size) along both sides: what kernels for channels-last images are there for.
bool is_depthwise(const Conv2d& op, std::int64_t in_channels);

/// The steps in the order of computation. Batch normalisations come in the same order whatever is joined: replicas that
/// join differently exchange their statistics in that order.
std::vector<Step> plan_steps(const Network& network, Join join);

}  // namespace evener::network
