// Scales a part of a picture by averaging, as floats, equal to PyTorch's adaptive average pooling: the input of face
// detectors. The inner loops for the processor at hand all compute the same: sums are whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/codecs/picture.h"

namespace evener::data {

/// Values of a pixel.
constexpr std::size_t kColours = 3;

/// The most rows that may be summed up, so that a sum of bytes fits into 16 bits, and the most pixels of a window, so
/// that a sum of such sums fits into 31 bits.
constexpr std::int64_t kMostSummedRows = 65535 / 255, kMostWindowPixels = 32767;
/// Kernels read so many sums beyond the last one, so buffers have to be longer by as many.
constexpr std::size_t kSumSlack = 1;

/// Which pixels of a row each output is the mean of.
struct AreaWindows {
  std::vector<std::int32_t> first;  // index of the first value
  std::vector<std::int32_t> count;
  std::vector<float> widths;  // count as floats
};

struct AreaKernels {
  /// Sums of the values of `rows` rows, which lie `stride` bytes apart.
  void (*add_rows)(const std::uint8_t* in, std::size_t stride, std::int64_t rows, std::size_t values,
                   std::uint16_t* sums);
  /// Writes the means of the windows of three colours, plane by plane, from the sums of `rows` rows.
  void (*colour_means)(const std::uint16_t* sums, const AreaWindows& windows, float rows, float* const* planes);
};

/// Plain C++.
const AreaKernels& plain_area_kernels();
/// The fastest that this processor can run.
const AreaKernels& area_kernels();

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
