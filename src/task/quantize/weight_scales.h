// The scales of quantised weights, one for each output channel.
#pragma once

#include "base/tensor.h"

namespace evener::task {

/// The scales, (O) in float32, of `weight` (O, ...). With 7 bits and more the largest weight of a channel becomes the
/// largest level; with fewer it may be clipped, where that gives a smaller mean squared error. A channel of zeros has
/// the scale 1.
HostTensor weight_scales(const HostTensor& weight, int bits);

}  // namespace evener::task
