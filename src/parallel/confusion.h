// Counts which class images have and for which the network took them. Each replica counts its own samples; the counts
// of all are added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evener::parallel {

class ConfusionCounts {
 public:
  /// Counts nothing.
  ConfusionCounts() = default;
  /// Zeros; with 0 classes nothing is counted.
  explicit ConfusionCounts(std::size_t classes) : classes_(classes), counts_(classes * classes, 0) {}

  /// Counts samples by their class and by the one that was found. Samples of other classes are passed over.
  void add(std::span<const std::int32_t> true_classes, std::span<const std::int32_t> found_classes);

  std::size_t classes() const { return classes_; }
  std::int64_t count(std::size_t true_class, std::size_t found_class) const {
    return counts_[true_class * classes_ + found_class];
  }

  /// The counts as plain numbers, which an all-reduce adds up, and back.
  std::size_t packed_size() const { return counts_.size(); }
  void pack(std::span<double> to) const;
  void unpack(std::span<const double> from);

 private:
  std::size_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // [true class * classes + found class]
};

}  // namespace evener::parallel
