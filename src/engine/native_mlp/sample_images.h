// Finds the pixels of samples, and assembles a batch from the shares of several replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/mlp.h"

namespace evener::engine::native_mlp {

/// Finds the pixels of a batch's samples. They are in the batch, or else in the data set: used in place if it is in
/// memory, otherwise read.
class SampleImages {
 public:
  /// `dataset` may be null: batches come with their pixels.
  explicit SampleImages(std::shared_ptr<const data::Dataset> dataset) : dataset_(std::move(dataset)) {}

  /// The pixels of all samples of the batch, valid until the next call. Throws Error where there are no pixels, and
  /// what reading the data set throws.
  Samples of(const data::Batch& batch);
  /// The pixels of one sample of the batch, likewise.
  const std::uint8_t* pixels(const data::Batch& batch, std::size_t index);
  /// The pixels of a sample of the data set; null if it isn't in memory, so that it has to be read first.
  const std::uint8_t* in_memory(std::uint32_t sample) const;
  void read(std::uint32_t sample, std::span<std::uint8_t> pixels) const { dataset_->read(sample, pixels); }

 private:
  std::shared_ptr<const data::Dataset> dataset_;
  std::vector<const std::uint8_t*> places_;
  std::vector<std::uint8_t> made_;  // pixels of samples that had to be read
};

/// A batch in memory that replicas share: each puts its samples in, then each sees all of them. For samples that the
/// data set has in memory only their index is stored, since forked replicas share that memory.
class SharedBatch {
 public:
  SharedBatch() = default;
  SharedBatch(std::int64_t samples, std::size_t image_bytes, Arena& arena);

  /// Puts a replica's samples into the batch, from index `begin` on.
  void put(const data::Batch& share, std::int64_t begin, const SampleImages& images);
  /// The whole batch of `count` samples, after all replicas have called put(). Valid until the next call.
  Samples whole(std::int64_t count, const data::Batch& share, SampleImages& images);

 private:
  std::size_t image_bytes_ = 0;
  Array mixed_, samples_, labels_, second_labels_, label_weights_;
  Array has_pixels_, pixels_;  // one byte per sample: whether its pixels are in pixels_; the pixels of samples that
                               // aren't in memory elsewhere
  data::Batch whole_;
  std::vector<const std::uint8_t*> places_;  // of its pixels
};

}  // namespace evener::engine::native_mlp
