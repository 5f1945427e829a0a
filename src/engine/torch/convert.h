// Conversions between host memory and LibTorch's tensors.
#pragma once

#include <ATen/ATen.h>

#include "base/tensor.h"
#include "data/batch.h"
#include "engine/trainer_options.h"

namespace evener::engine::torch_engine {

/// A row-major host copy of `tensor`.
HostTensor to_host(const at::Tensor& tensor);

/// Copies `host` into `tensor`, which has the same shape; values are converted to its type. Throws Error naming `name`.
void copy_from_host(const HostTensor& host, const std::string& name, at::Tensor& tensor);

/// The tensor of this name in a network's state. Throws Error naming it where there is none.
const HostTensor& tensor_of(const TensorMap& state, const std::string& name);

/// One value per channel as a float32 tensor (1, C, 1, 1) on `device`.
at::Tensor along_channels(const std::vector<float>& values, at::Device device);

/// The batch's images as float32 (N, C, H, W), normalised, in `format`: one pass over the bytes.
at::Tensor to_input(const data::Batch& batch, const PixelScale& pixels, at::MemoryFormat format);

/// The batch's labels as int64 (N).
at::Tensor to_labels(const data::Batch& batch);

/// Appends the predicted classes `found`, int64 (N), to `predicted`.
void append_classes(const at::Tensor& found, std::vector<std::int32_t>& predicted);

/// Copies: labels as int64 (N), weights as float32 (N).
at::Tensor to_tensor(std::span<const std::int32_t> labels);
at::Tensor to_tensor(std::span<const float> weights);

}  // namespace evener::engine::torch_engine
