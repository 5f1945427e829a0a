// A Network on LibTorch: its parameters and buffers as tensors, and the forward pass over its layers.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/torch/channel_sums.h"
#include "engine/torch/steps.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// What decides the random numbers of one batch's dropout.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::span<const std::uint32_t> samples;
};

class Graph {
 public:
  /// `compute`: the type of convolutions and matrix products; parameters stay float32 (mixed precision).
  /// `format`: memory format of images, activations and convolution weights.
  Graph(network::Network network, at::ScalarType compute, at::MemoryFormat format);

  /// `input` (N, C, H, W) float32 -> logits (N, outputs) float32. In training mode batch-norm uses and updates batch
  /// statistics and dropout is active. `replicas`: whose samples belong to the same batch (null = this one's alone);
  /// needs a channels-last graph and outlives the backward pass.
  at::Tensor forward(at::Tensor input, bool training, const DropoutKey& key, const Replicas* replicas = nullptr);

  const network::Network& network() const { return network_; }
  at::MemoryFormat format() const { return format_; }
  /// All parameters and buffers, in the order of Network::parameters().
  std::vector<at::Tensor>& tensors() { return tensors_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  at::Tensor run(const Step& step, const std::vector<at::Tensor>& outputs, bool training, const DropoutKey& key,
                 const Replicas* replicas);
  at::Tensor run_batch_norm(const Step& step, const std::vector<at::Tensor>& outputs, bool training,
                            const Replicas* replicas);
  at::Tensor run_convolution(const network::Conv2d& op, const at::Tensor& x, const std::vector<at::Tensor>& tensors);

  network::Network network_;
  at::ScalarType compute_;
  at::MemoryFormat format_;
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<at::Tensor>> of_layer_;  // the same, layer by layer
  std::vector<Step> steps_;
};

}  // namespace evener::engine::torch_engine
