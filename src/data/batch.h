// The input of a training step or an evaluation: some samples with their pixels and targets.
#pragma once

#include <cstdint>
#include <span>

#include "data/image_change.h"
#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

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
