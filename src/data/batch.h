// What a training step, or an evaluation, is given: some samples with their pixels and targets.
#pragma once

#include <cstdint>
#include <span>

#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

/// A view on samples that lie in the memory of whoever made it (data/loader.h).
struct Batch {
  std::int64_t count = 0;
  ImageShape shape;
  std::span<const std::uint8_t> images;    // (count, C, H, W); empty where the loader serves no pixels
  Targets targets;                         // of each image
  std::span<const std::uint32_t> samples;  // indices into the dataset, which key dropout and augmentation
  std::uint64_t epoch = 0;
};

/// Samples begin..end-1 of a batch, with their pixels and targets.
Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end);

}  // namespace evener::data
