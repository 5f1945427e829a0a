// Averages of a part of a picture as floats, as PyTorch's adaptive average pooling gives them: what face detectors see.
#pragma once

#include <cstdint>
#include <span>

#include "data/codecs/picture.h"

namespace evener::data {

/// A part of a picture: from (x, y), so many pixels.
struct PictureArea {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// Each of height x width outputs is the mean of the pixels that it covers, from floor(i n / m) to ceil((i + 1) n / m):
/// interpolate(mode="area") of PyTorch. Written as (3, height, width) with values from 0 to 255; grey is repeated.
/// Throws Error for an area that is empty or not within the picture.
void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw);

}  // namespace evener::data
