// The confusion matrix of a classifier. Each replica counts its own samples, and an all-reduce adds the counts up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evener::parallel {

class ConfusionCounts {
 public:
  /// An empty matrix that counts nothing.
  ConfusionCounts() = default;
  /// A matrix of zeros for `classes` classes; with 0 classes it counts nothing.
  explicit ConfusionCounts(std::size_t classes) : classes_(classes), counts_(classes * classes, 0) {}

  /// Counts one sample for each pair of true and predicted class. Skips samples whose classes are out of range.
  void add(std::span<const std::int32_t> true_classes, std::span<const std::int32_t> found_classes);

  std::size_t classes() const { return classes_; }
  std::int64_t count(std::size_t true_class, std::size_t found_class) const {
    return counts_[true_class * classes_ + found_class];
  }

  /// Converts the counts to numbers that an all-reduce can add up, and back.
  std::size_t packed_size() const { return counts_.size(); }
  void pack(std::span<double> to) const;
  void unpack(std::span<const double> from);

 private:
  std::size_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // [true class * classes + found class]
};

}  // namespace evener::parallel
