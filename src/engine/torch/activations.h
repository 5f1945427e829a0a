// Activations on LibTorch, and the masks of dropout and of stochastic depth: zeros and 1 / (1 - p), keyed by sample and
// layer, so that every placement drops the same values.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/kernels/kernels.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

at::Tensor activate(const at::Tensor& x, network::ActivationKind kind);
/// Applies the activation in place. SiLU, hard-sigmoid and hard-swish may only be used so in inference, since their
/// backward pass needs the input.
void activate_in_place(const at::Tensor& x, network::ActivationKind kind);
/// Whether the activation may overwrite its input in training, since its backward pass doesn't read it.
bool may_overwrite_in_training(network::ActivationKind kind);

/// The activation as a clamp: of ReLU and ReLU6 their bounds, of no activation infinite ones; nothing for other
/// activations.
std::optional<kernels::Clamp> clamp_of(std::optional<network::ActivationKind> kind);

/// The key of the random numbers of one batch's dropout.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::span<const std::uint32_t> samples;
};

struct DropoutLayer {
  int layer = 0;   // its index in the network
  int number = 0;  // Layer::number, which keys its random numbers
  double probability = 0;
  std::vector<std::int64_t> shape;  // of one sample's mask: the layer's shape, or ones where a sample is dropped whole
};

/// Float32 (N, ...) by index of the layer.
using DropoutMasks = std::map<int, at::Tensor>;

/// The layers of a network with dropout or stochastic depth.
std::vector<DropoutLayer> dropout_layers(const network::Network& network);

/// Writes the masks of all samples, one after the other, into `mask`.
void draw_mask(const DropoutLayer& layer, const DropoutKey& key, float* mask);

/// Draws the masks of all layers, in host memory.
DropoutMasks draw_masks(const std::vector<DropoutLayer>& layers, const DropoutKey& key);

}  // namespace evener::engine::torch_engine
