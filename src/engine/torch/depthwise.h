// Depthwise convolutions on our own kernels, for channels-last images, with the batch normalisations at their sides.
#pragma once

#include <ATen/ATen.h>

#include "engine/torch/batch_norm.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

struct BatchNormLayer {
  BatchNormTensors tensors;
  BatchNormOptions options;
};

/// What network::is_depthwise says yes to. `x` (N, C, H, W) in float32 or bfloat16, channels-last; `weight` (C, 1, K,
/// K) in float32, which is not rounded to x's type. Sums in float32. `before` and `after`: normalisations of x and of
/// the result; null: there is none. What is between is neither written to memory nor kept: normalised rows are computed
/// where they are needed, again in the backward pass. Differentiable.
at::Tensor depthwise_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                                 const BatchNormLayer* before = nullptr, const BatchNormLayer* after = nullptr);

}  // namespace evener::engine::torch_engine
