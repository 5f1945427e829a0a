// Batch normalisation with the sum and the clamp that follow it, on our own kernels, for channels-last images.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "engine/kernels/kernels.h"
#include "engine/torch/channel_sums.h"

namespace evener::engine::torch_engine {

struct BatchNormTensors {
  at::Tensor weight, bias;                    // (C), float32
  at::Tensor running_mean, running_variance;  // (C), float32; updated in training
};

struct BatchNormOptions {
  double epsilon, momentum;
  bool training;
  bool frozen;  // in training: normalises by the running statistics, and doesn't update them; they are constants for
                // gradients
  kernels::Clamp clamp;  // infinite at both ends: none
  std::string layer;     // its name, for errors
  /// The replicas over whose samples the statistics in training are taken; null = this replica's samples alone.
  /// Outlives the backward pass.
  const Replicas* replicas = nullptr;
};

/// clamp(normalised(x) + residual); `x` (N, C, H, W), channels-last, or (N, C), in float32 or bfloat16; `residual`
/// likewise or undefined. Differentiable in training mode. Sums are taken in double over float32 blocks, the rest is
/// float32, and the result is rounded to x's type once.
at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& residual, const BatchNormTensors& tensors,
                      const BatchNormOptions& options);

}  // namespace evener::engine::torch_engine
