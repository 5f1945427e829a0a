// What augmentation does to an image where that is a few numbers, so that a device that has the image can do it.
#pragma once

#include <cstdint>
#include <span>

namespace evener::data {

/// Where the pixels of an image go: it is shifted, black comes in, and then mirrored, left to right.
struct ImageMove {
  std::int64_t right = 0, down = 0;
  bool is_mirrored = false;
  bool operator==(const ImageMove&) const = default;
};

/// What becomes of each value, in float32: of_value * value + of_luma * luma + constant, held within 0 and 255 and
/// rounded. Luma is the pixel's own; the constant is (brightness * mean) * of_mean with the image's mean luma.
struct ColourChange {
  float of_value = 1, of_luma = 0;
  float brightness = 1, of_mean = 0;
  bool operator==(const ColourChange&) const = default;
};

/// Of each image of a batch what is done to it, the moves first; empty where none is moved, or has its colours changed.
struct ImageChanges {
  std::span<const ImageMove> moves;
  std::span<const ColourChange> colours;
};

}  // namespace evener::data
