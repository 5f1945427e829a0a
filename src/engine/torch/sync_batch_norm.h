// Batch normalisation over the samples of all replicas, in LibTorch's operations: for any device. The statistics are
// exchanged by the devices where these can, otherwise through host memory.
#pragma once

#include <ATen/ATen.h>

#include "engine/torch/batch_norm.h"

namespace evener::engine::torch_engine {

/// normalised(x) in training mode with options.replicas; its clamp must be none. `x` (N, C, H, W) or (N, C), float32 or
/// 16 bits wide. Computes in float32 and updates the running statistics; waits for the device where the host exchanges.
/// Differentiable.
at::Tensor sync_batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, const BatchNormOptions& options);

}  // namespace evener::engine::torch_engine
