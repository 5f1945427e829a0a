// Images with targets, all brought to one shape, readable in any order from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/targets.h"

namespace evener::data {

/// Images of one shape with their targets. Datasets with one class per image derive from ClassDataset.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  virtual ImageShape shape() const = 0;
  /// The names that the labels of classes and boxes count from 0.
  virtual const std::vector<std::string>& classes() const = 0;
  /// The kind of every sample's targets.
  virtual TargetKind target_kind() const = 0;
  /// The targets of sample `index`. Boxes are in pixels of the image that read() writes.
  virtual SampleTargets targets(std::size_t index) const = 0;
  /// Writes sample `index` as uint8 (C, H, W) into `chw` (shape().bytes() long). Thread-safe. Throws Error if a file
  /// that could be opened before can't be read any more.
  virtual void read(std::size_t index, std::span<std::uint8_t> chw) const = 0;
  /// The pixels of sample `index`, as read() would write them, where they lie in memory; null where only read() can
  /// produce them.
  virtual const std::uint8_t* pixels(std::size_t index) const {
    static_cast<void>(index);
    return nullptr;
  }
  /// The file (or "#17") the sample comes from, for messages and predictions.csv.
  virtual std::string source(std::size_t index) const = 0;
  /// A hash (base/content_hash.h) by which the sample is recognised later: of its file's bytes, or of its pixels where
  /// one file holds many samples. Absent where these weren't read.
  virtual std::optional<std::uint64_t> content(std::size_t index) const;
};

/// Images that have one class each.
class ClassDataset : public Dataset {
 public:
  virtual std::int32_t label(std::size_t index) const = 0;

  TargetKind target_kind() const final { return TargetKind::kClasses; }
  SampleTargets targets(std::size_t index) const final { return label(index); }
};

/// The class of a sample. Throws Error, naming the sample, where the data has boxes.
std::int32_t label_of(const Dataset& dataset, std::size_t index);

}  // namespace evener::data
