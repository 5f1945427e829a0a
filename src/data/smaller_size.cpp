#include "data/smaller_size.h"

#include <algorithm>

namespace evener::data {

std::string smaller_size(const ImageShape& shape) {
  constexpr std::int64_t kSide = 224;
  const std::int64_t shorter = std::min(shape.width, shape.height);
  if (shorter <= kSide) return "";
  const auto scaled = [shorter](std::int64_t side) { return std::to_string((side * kSide + shorter / 2) / shorter); };
  return scaled(shape.width) + "x" + scaled(shape.height);
}

}  // namespace evener::data
