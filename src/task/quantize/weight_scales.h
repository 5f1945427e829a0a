// Steps of quantised weights, a step for each output channel.
#pragma once

#include "base/tensor.h"

namespace evener::task {

/// (O) in float32 of `weight` (O, ...). With 7 bits and more the largest weight of a channel is the largest level; with
/// fewer it may lie beyond, where the mean squared error is less then. A channel of zeros has a step of 1.
HostTensor weight_scales(const HostTensor& weight, int bits);

}  // namespace evener::task
