// Averages of a part of a picture as floats, as PyTorch's adaptive average pooling gives them: what face detectors see.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/area_kernels.h"
#include "data/codecs/picture.h"

namespace evener::data {

/// Each of height x width outputs is the mean of the pixels that it covers, from floor(i n / m) to ceil((i + 1) n / m):
/// interpolate(mode="area") of PyTorch. Rows are made one by one, so that nobody needs the whole.
class AreaRows {
 public:
  /// Throws Error for an area that is empty or not within the picture, which has to stay.
  AreaRows(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width);

  /// Row y of the three colours, with values from 0 to 255; grey is repeated.
  void write(std::int64_t y, std::span<float* const> planes);

 private:
  /// Grey pictures, and windows that are too large for the kernels: from `rows` rows, the first at `in`.
  void write_any(const std::uint8_t* in, std::int64_t rows, std::span<float* const> planes);

  const Picture& picture_;
  const PictureArea area_;
  const std::int64_t height_;
  AreaWindows windows_;
  std::vector<std::uint16_t> few_;  // sums of rows, value by value; of so few that they fit
  std::vector<std::uint32_t> many_;
};

/// All rows, written as (3, height, width). Throws Error as AreaRows does.
void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw);

}  // namespace evener::data
