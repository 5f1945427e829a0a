// Hashes of an image and of crops of it, by which copies are found without comparing each pair of images.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "data/grey_grid.h"

namespace evener::data {

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
