// Convolutions without Winograd's kernels in training on the CPU, where LibTorch's own spend most of their time on
// weights: for few pixels and many channels, as a network's last layers have them, above all in micro-batches.
#pragma once

#include <ATen/ATen.h>

#include "engine/torch/later_gradients.h"
#include "engine/torch/step_weights.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// Whether direct_convolution can and should compute a layer for `x`; `keeps_weights`: it would be given StepWeights.
bool takes_direct(const network::Conv2d& op, const at::Tensor& x, bool keeps_weights);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last, as is the result; `weight` (O, C, KH, KW) in float32.
/// Differentiable. `kept`, unless null, keeps weights for the next calls. `later`, unless null, is given the gradient
/// of the weight, which is its only parameter.
at::Tensor direct_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                              const StepWeightsPtr& kept, const LaterParametersPtr& later);

}  // namespace evener::engine::torch_engine
