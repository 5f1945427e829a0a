// Inside zoo/: the convolutional parts of MobileNets, which classifiers and detectors are built on.
#pragma once

#include <cstdint>
#include <string>

#include "network/network.h"

namespace evener::network {

/// Layers whose feature maps a detector reads.
struct Taps {
  int earlier_expansion = 0;  // of the last block but one with a stride: an eighth of the image's sides
  int expansion = 0;          // of the last block with a stride: a sixteenth of them
  int last = 0;               // a thirty-second of them
};

/// MobileNetV2's features, under torchvision's names with `prefix` before them.
Taps add_mobilenet_v2_features(Network& network, const std::string& prefix);

/// How MobileNetV3-Large is varied for detectors.
struct MobileNetV3Style {
  BatchNorm normalization{.epsilon = 1e-3, .momentum = 0.01};
  std::int64_t tail_divisor = 1;  // divides the channels from the last block with a stride on
  double first_deviation = 0;     // as Conv2d's
  /// Returns the prefix of the layer names of part `part` of block `feature`; -1: of the first or last convolution,
  /// which have no parts.
  std::string (*name)(int feature, int part) = nullptr;
};

/// The number of MobileNetV3-Large's last block with a stride.
constexpr int kMobileNetV3LastStride = 13;

Taps add_mobilenet_v3_large_features(Network& network, const MobileNetV3Style& style);

}  // namespace evener::network
