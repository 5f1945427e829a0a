// Reads samples into the memory of a batch, and augments them on the way. Inside data/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "data/mosaic.h"

namespace evener::data {

/// A batch that owns its memory.
struct BatchMemory {
  /// ImageChanges of its images.
  struct Changes {
    std::vector<ImageMove> moves;
    std::vector<ColourChange> colours;
  };
  std::vector<std::uint32_t> samples, partners;
  std::vector<std::uint8_t> images;
  TargetStore targets;
  Changes changes, partner_changes;

  Batch view(const ImageShape& shape, std::uint64_t epoch) const;
};

class SampleReader {
 public:
  /// `pixels`: LoaderOptions::pixels. Throws as Loader's constructor does.
  SampleReader(std::shared_ptr<const Dataset> dataset, Augmentation augmentation, bool pixels);

  /// Makes room for all that read() writes for the samples of `batch`.
  void make_room(BatchMemory& batch) const;
  /// Reads the sample at `place` of the batch, augmented as in `epoch`. Threads may read different places at once.
  void read(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const;

 private:
  void read_targets(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const;
  void draw_changes(std::size_t place, std::uint32_t sample, std::uint64_t epoch, BatchMemory::Changes& changes) const;
  void read_augmented(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const;
  SampleTargets read_boxed(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const;
  std::vector<LabelledBox> read_mosaic(const Mosaic& mosaic, std::span<std::uint8_t> chw) const;
  Mixture mixture_of(std::uint32_t sample, std::uint64_t epoch) const;
  void mix(std::size_t place, std::uint64_t epoch, BatchMemory& batch, std::span<std::uint8_t> chw) const;

  std::shared_ptr<const Dataset> dataset_;
  Augmentation augmentation_;
  bool pixels_;
};

}  // namespace evener::data
