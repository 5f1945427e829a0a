// An image as a small square of grey cells, and the ways to turn and mirror it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/image_shape.h"

namespace evener::data {

/// How one square becomes another: transposed first, then mirrored along its rows or its columns, or both.
struct Orientation {
  bool is_transposed = false, is_mirrored = false, is_flipped = false;  // left and right, top and bottom change places
};
/// All eight orientations; the first leaves the square as it is.
const std::array<Orientation, 8>& orientations();

/// Means of the grey values, from 0 to 255, of side x side cells, row by row.
struct GreyGrid {
  std::int64_t side = 0;
  std::vector<float> cells;

  float& at(std::int64_t row, std::int64_t column) { return cells[static_cast<std::size_t>(row * side + column)]; }
  float at(std::int64_t row, std::int64_t column) const { return const_cast<GreyGrid*>(this)->at(row, column); }
};

/// The grid of an image (C, H, W), with the mean of all channels as grey. Both sides of the image must have at least
/// `side` pixels.
GreyGrid grey_grid(std::span<const std::uint8_t> chw, const ImageShape& shape, std::int64_t side);
GreyGrid oriented(const GreyGrid& grid, const Orientation& orientation);
/// Standard deviation of the cells.
double deviation(const GreyGrid& grid);

}  // namespace evener::data
