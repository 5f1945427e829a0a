// Augmentations of an image that a few numbers describe, so that a device that has the images in its memory can do
// them.
#pragma once

#include <cstdint>
#include <span>

namespace evener::data {

/// An image is shifted, filled with black, and then mirrored, left to right.
struct ImageMove {
  std::int64_t right = 0, down = 0;
  bool is_mirrored = false;
  bool operator==(const ImageMove&) const = default;
};

/// Each value becomes, in float32, of_value * value + of_luma * luma + constant, held within 0 and 255 and rounded.
/// Luma is the pixel's own; the constant is (brightness * mean) * of_mean with the image's mean luma.
struct ColourChange {
  float of_value = 1, of_luma = 0;
  float brightness = 1, of_mean = 0;
  bool operator==(const ColourChange&) const = default;
};

/// The augmentation of each image of a batch; moves are done first. A span is empty where no image is moved, or none
/// has its colours changed.
struct ImageChanges {
  std::span<const ImageMove> moves;
  std::span<const ColourChange> colours;
};

}  // namespace evener::data
