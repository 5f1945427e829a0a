// Depthwise convolutions on our own kernels, for channels-last images.
#pragma once

#include <ATen/ATen.h>

#include "network/network.h"

namespace evener::engine::torch_engine {

/// Whether depthwise_convolution computes `op` on channels-last images: one filter per channel, no bias, a square
/// kernel of 3, 5 or 7, stride and padding the same along both sides.
bool is_depthwise(const network::Conv2d& op, std::int64_t in_channels);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last; `weight` (C, 1, K, K) in float32, which is not rounded to
/// x's type. Sums in float32. Differentiable.
at::Tensor depthwise_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op);

}  // namespace evener::engine::torch_engine
