// The shape that all images of a dataset have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace evener::data {

struct ImageShape {
  std::int64_t channels = 0;  // 1 grey, 3 RGB
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const ImageShape&) const = default;
};

}  // namespace evener::data
