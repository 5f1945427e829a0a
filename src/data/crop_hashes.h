// Hashes of an image and of what is left of it when its borders are cut off, by which copies are found without looking
// at each pair of images.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "data/grey_grid.h"

namespace evener::data {

/// Cells of the grid that hashes are made of, along a side.
inline constexpr std::int64_t kHashedSide = 32;
/// Hashes have so many bits, which fall into bands of consecutive ones.
inline constexpr int kHashBits = 60, kBands = 5, kBandBits = kHashBits / kBands;

/// A part of an image, from 0 to 1 of its height and of its width.
struct Crop {
  double top = 0, bottom = 1, left = 0, right = 1;
};
/// The whole, and what is left when 2.5 % or 5 % of both, or 5 % of either, of its opposite borders are cut off: rows
/// and columns each in one of these five ways. The whole is first.
inline constexpr std::size_t kCrops = 25;
const std::array<Crop, kCrops>& crops();

using CropHashes = std::array<std::uint64_t, kCrops>;
/// Bit by bit whether a coefficient of the cosine transform of a crop is above zero: the 60 lowest frequencies but
/// the mean, so that brightness and contrast don't matter. Frequencies take turns in the bands, and each has low ones.
/// The signs are those of "pHash" and PDQ, without their median.
CropHashes crop_hashes(const GreyGrid& grid);

}  // namespace evener::data
