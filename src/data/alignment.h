// How similar two images are once borders that only one of them shows are cropped.
#pragma once

#include "data/crop_hashes.h"
#include "data/grey_grid.h"

namespace evener::data {

/// How one image (the part) lies in another (the whole).
struct Alignment {
  Crop crop;            // of the whole: the crop that is most similar to the part
  double likeness = 0;  // correlation of the grey values, from -1 to 1
  double details = 0;   // correlation of the structure finer than 5 cells
  double gain = 1;      // the part's mean grey value divided by the crop's
};

/// Finds the crop of `whole` that is most similar to `part`, by steps from `begin` of at most 2 % of a side, and
/// compares the two on a grid of half as many cells. At most 12 % of a side are cropped.
Alignment align(const GreyGrid& whole, const GreyGrid& part, const Crop& begin);

}  // namespace evener::data
