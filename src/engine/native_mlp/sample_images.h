// Where the pixels of samples lie, and the batch that replicas bring together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/mlp.h"

namespace evener::engine::native_mlp {

/// Finds the pixels of a batch's samples: in the batch, or where that has none in the data, in its place if that has
/// them in memory.
class SampleImages {
 public:
  /// `dataset` may be null: batches come with their pixels.
  explicit SampleImages(std::shared_ptr<const data::Dataset> dataset) : dataset_(std::move(dataset)) {}

  /// All of the batch's. Valid until the next call. Throws Error where there are no pixels, or what the data throws.
  Samples of(const data::Batch& batch);
  /// The pixels of the batch's sample of this index, in the same way.
  const std::uint8_t* pixels(const data::Batch& batch, std::size_t index);
  /// Of a sample of the data; null if that has to read it first.
  const std::uint8_t* in_memory(std::uint32_t sample) const;
  void read(std::uint32_t sample, std::span<std::uint8_t> pixels) const { dataset_->read(sample, pixels); }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::vector<const std::uint8_t*> places_;
  std::vector<std::uint8_t> made_;  // pixels of samples that had to be read
};

/// A batch in memory that replicas share: each puts its samples in, then each sees all of them. Samples go by their
/// number where the data has them in memory: forked replicas have the same data.
class SharedBatch {
 public:
  SharedBatch() = default;
  SharedBatch(std::int64_t samples, std::size_t image_bytes, Arena& arena);

  /// A replica's samples, from number `begin` of the batch on.
  void put(const data::Batch& share, std::int64_t begin, const SampleImages& images);
  /// After all have put theirs in: the batch of `count` samples. Valid until the next call.
  Samples whole(std::int64_t count, const data::Batch& share, SampleImages& images);

 private:
  std::size_t image_bytes_ = 0;
  Array mixed_, samples_, labels_, second_labels_, label_weights_;
  Array has_pixels_, pixels_;  // a byte for each sample; of those that the data doesn't have in memory
  data::Batch whole_;
  std::vector<const std::uint8_t*> places_;  // of its pixels
};

}  // namespace evener::engine::native_mlp
