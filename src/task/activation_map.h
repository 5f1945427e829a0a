// Where on an image a network found its class: class activation maps (Zhou et al. 2016), for networks whose class is a
// linear layer's of the means of channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "task/quantize/probe.h"

namespace evener::task {

/// A head that takes the mean of each channel, and then one linear layer.
struct PooledHead {
  std::string map;     // the layer whose channels' means are taken
  std::string linear;  // the last layer
  std::int64_t channels = 0, height = 0, width = 0, classes = 0;
};
/// Absent where the output is made in another way, or the map has one place only, which says nothing of where.
std::optional<PooledHead> pooled_head(const network::Network& network);

/// How much each place speaks for a class: from 0, of none that does, to 1, of the one that does most.
struct ActivationMap {
  std::int64_t height = 0, width = 0;
  std::vector<float> values;

  /// Of a place in a picture of this size, between the map's places in proportion.
  float at(std::int64_t y, std::int64_t x, std::int64_t picture_height, std::int64_t picture_width) const;
};

/// The channels of one image, (C, H, W), weighted by the class's weights of the linear layer.
ActivationMap class_map(std::span<const float> channels, std::span<const float> weights, std::int64_t height,
                        std::int64_t width);

/// A sample and the class to look for.
struct Looked {
  std::size_t sample = 0, index_of_class = 0;
};

/// The map of each, in that order; empty values where the sample can't be read any more.
std::vector<ActivationMap> class_maps(const Probe& probe, const network::Network& network, const TensorMap& state,
                                      const PooledHead& head, const data::Samples& samples,
                                      std::span<const Looked> looked);

}  // namespace evener::task
