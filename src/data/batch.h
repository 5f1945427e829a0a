// The input of a training step or an evaluation: some samples with their pixels and targets.
#pragma once

#include <cstdint>
#include <span>

#include "data/codecs/picture.h"
#include "data/targets.h"

namespace evener::data {

// Augmentations of an image that a few numbers describe, so that a device that has the images in its memory can do
// them.

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

/// A view on samples in the memory of a loader (data/loader.h). Where a device has the images already, it holds only
/// the augmentation of each.
struct Batch {
  std::int64_t count = 0;
  ImageShape shape;
  std::span<const std::uint8_t> images;    // (count, C, H, W); empty where the loader serves no pixels
  Targets targets;                         // of each image
  std::span<const std::uint32_t> samples;  // indices into the dataset, which key dropout and augmentation
  std::uint64_t epoch = 0;
  ImageChanges changes = {};                     // augmentation of the images, where `images` is empty
  std::span<const std::uint32_t> partners = {};  // indices of the samples that mixup adds to the images, by the
                                                 // targets' weights; empty: none
  ImageChanges partner_changes = {};
};

/// Samples begin..end-1 of a batch, with their pixels and targets.
Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end);

}  // namespace evener::data
