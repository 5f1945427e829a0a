// Scales a part of a picture by averaging, as floats, equal to PyTorch's adaptive average pooling: the input of face
// detectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/area_kernels.h"
#include "data/codecs/picture.h"

namespace evener::data {

/// Each of height x width outputs is the mean of the pixels that it covers, from floor(i n / m) to ceil((i + 1) n / m):
/// interpolate(mode="area") of PyTorch. Rows are computed one by one, so that no memory for the whole result is needed.
class AreaRows {
 public:
  /// Throws Error for an area that is empty or not within the picture. The picture must outlive this.
  AreaRows(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width);

  /// Row y of the three colours, with values from 0 to 255; grey is repeated.
  void write(std::int64_t y, std::span<float* const> planes);

 private:
  /// Writes a row without the kernels, for grey pictures and for windows too large for them, from `rows` rows that
  /// begin at `in`.
  void write_any(const std::uint8_t* in, std::int64_t rows, std::span<float* const> planes);

  const Picture& picture_;
  const PictureArea area_;
  const std::int64_t height_;
  AreaWindows windows_;
  std::vector<std::uint16_t> few_;  // sums of rows, value by value, where 16 bits suffice; else many_
  std::vector<std::uint32_t> many_;
};

/// All rows, written as (3, height, width). Throws Error as AreaRows does.
void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw);

}  // namespace evener::data
