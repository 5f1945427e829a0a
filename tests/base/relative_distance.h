// How far tensors are from others. Header only, so that the tests of every room can use it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "base/tensor.h"

namespace evener::test {

/// ||a - b|| / ||b|| over the float32 tensors of `b`, all of which `a` has to have.
inline double relative_distance(const TensorMap& a, const TensorMap& b) {
  double distance = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [name, expected] : b) {
    const auto found = a.find(name);
    EXPECT_TRUE(found != a.end()) << name;
    if (found == a.end() || expected.dtype != DType::kF32) continue;
    EXPECT_EQ(found->second.shape, expected.shape) << name;
    for (std::int64_t i = 0; i < element_count(expected.shape); ++i) {
      const double difference = static_cast<double>(found->second.floats()[i]) - expected.floats()[i];
      distance += difference * difference;
      norm += static_cast<double>(expected.floats()[i]) * expected.floats()[i];
    }
  }
  return std::sqrt(distance / norm);
}

}  // namespace evener::test
