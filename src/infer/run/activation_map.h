// Where on an image a network found its class: class activation maps (Zhou et al. 2016), for networks that end with
// global average pooling and one linear layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "infer/run/probe.h"

namespace evener::inference {

/// A head that takes the mean of each channel, and then one linear layer.
struct PooledHead {
  std::string map;     // the layer whose channels' means are taken
  std::string linear;  // the last layer
  std::int64_t channels = 0, height = 0, width = 0, classes = 0;
};
/// The pooled head of `network`; absent where the output is made in another way, or the map has one place only, which
/// can't tell where.
std::optional<PooledHead> pooled_head(const network::Network& network);

/// How much each place of an image speaks for a class: from 0, not at all, to 1, the most of all places.
struct ActivationMap {
  std::int64_t height = 0, width = 0;
  std::vector<float> values;

  /// The value at (x, y) of a picture of this size, interpolated linearly between the map's places.
  float at(std::int64_t y, std::int64_t x, std::int64_t picture_height, std::int64_t picture_width) const;
};

/// The sum of the channels of one image, (C, height, width), each times the linear layer's weight for the class.
ActivationMap class_map(std::span<const float> channels, std::span<const float> weights, std::int64_t height,
                        std::int64_t width);

/// A sample and the class to look for.
struct Looked {
  std::size_t sample = 0, index_of_class = 0;
};

/// The map of each of `looked`, in that order; without values where the sample can't be read any more.
std::vector<ActivationMap> class_maps(const Probe& probe, const network::Network& network, const TensorMap& state,
                                      const PooledHead& head, const data::Samples& samples,
                                      std::span<const Looked> looked);

}  // namespace evener::inference
