// Hashes of an image and of crops of it, by which copies are found without comparing each pair of images: of an image
// as a small square of grey cells, and of the ways to turn and mirror it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
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

/// Cells along a side of the grid from which hashes are computed.
inline constexpr std::int64_t kHashedSide = 32;
/// The bits of a hash, divided into bands of consecutive bits.
inline constexpr int kHashBits = 60, kBands = 5, kBandBits = kHashBits / kBands;

/// A part of an image, from 0 to 1 of its height and of its width.
struct Crop {
  double top = 0, bottom = 1, left = 0, right = 1;
};
/// The number of crops: rows and columns are each cropped in one of five ways: not at all, by 2.5 % or by 5 % at both
/// ends, or by 5 % at either end. The first crop is the whole image.
inline constexpr std::size_t kCrops = 25;
const std::array<Crop, kCrops>& crops();

using CropHashes = std::array<std::uint64_t, kCrops>;
/// The hash of each crop. A bit says whether a coefficient of the crop's cosine transform is positive: the 60 lowest
/// frequencies but the mean, so that brightness and contrast don't matter. Frequencies are dealt to the bands in turn,
/// so that each band has low ones. As in pHash and PDQ, but with zero in place of the median.
CropHashes crop_hashes(const GreyGrid& grid);

}  // namespace evener::data
