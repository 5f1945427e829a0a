// Filled polygons with antialiased edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evener::data {

struct Point {
  double x = 0;
  double y = 0;
};

/// Fills the inside of a closed outline with 255 on 0; pixels on the edge get the share that is covered. Pixel (0, 0)
/// reaches from (0, 0) to (1, 1). Points outside of the picture are fine. `pixels` is (height, width).
void fill_polygon(std::span<const Point> outline, std::int64_t width, std::int64_t height,
                  std::span<std::uint8_t> pixels);

}  // namespace evener::data
