#include "parallel/confusion.h"

#include <algorithm>
#include <cmath>

namespace evener::parallel {

void ConfusionCounts::add(std::span<const std::int32_t> true_classes, std::span<const std::int32_t> found_classes) {
  const auto known = [this](std::int32_t index) { return index >= 0 && static_cast<std::size_t>(index) < classes_; };
  for (std::size_t i = 0; i < std::min(true_classes.size(), found_classes.size()); ++i) {
    if (!known(true_classes[i]) || !known(found_classes[i])) continue;
    ++counts_[static_cast<std::size_t>(true_classes[i]) * classes_ + static_cast<std::size_t>(found_classes[i])];
  }
}

void ConfusionCounts::pack(std::span<double> to) const {
  for (std::size_t i = 0; i < counts_.size(); ++i) to[i] = static_cast<double>(counts_[i]);
}

void ConfusionCounts::unpack(std::span<const double> from) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] = std::llround(from[i]);
}

}  // namespace evener::parallel
