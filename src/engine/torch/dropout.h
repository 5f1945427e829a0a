// The masks of dropout and of stochastic depth: zeros and 1 / (1 - p), keyed by sample and layer, so that every
// placement drops the same values.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "network/network.h"

namespace evener::engine::torch_engine {

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
