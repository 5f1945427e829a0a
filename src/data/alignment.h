// How alike two images are once the borders are cut off that only one of them has.
#pragma once

#include "data/crop_hashes.h"
#include "data/grey_grid.h"

namespace evener::data {

/// How one image lies in another one.
struct Alignment {
  Crop crop;            // of the whole, in which the part looks most alike
  double likeness = 0;  // correlation of the grey values, from -1 to 1
  double details = 0;   // correlation of what is finer than 5 cells
  double gain = 1;      // the part's mean by the crop's
};

/// Looks for the crop of `whole` that is most like `part`, from `begin` on by steps of 2 % and less of a side, and
/// compares them in half as many cells as they have. No more than 12 % of a side are cut off.
Alignment align(const GreyGrid& whole, const GreyGrid& part, const Crop& begin);

}  // namespace evener::data
