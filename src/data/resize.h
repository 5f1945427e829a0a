// Antialiased bilinear resizing, equal to Pillow's Image.resize(..., BILINEAR).
#pragma once

#include <cstdint>

#include "data/codecs/picture.h"

namespace evener::data {

/// Resizes with a triangle filter that grows with the shrink factor, along rows and along columns, each with
/// fixed-point weights of 22 bits and rounded to 8 bits in between: bit-equal to Pillow 13 (older ones always begin
/// with the rows, which differs by 1 at most). A picture of that size comes back as it is. Throws Error for an extent
/// below 1.
Picture resize(Picture picture, std::int64_t height, std::int64_t width);
/// With certain inner loops; the result is the same with all of them.
struct ResizeKernels;
Picture resize(Picture picture, std::int64_t height, std::int64_t width, const ResizeKernels& kernels);

}  // namespace evener::data
