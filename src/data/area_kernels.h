// The inner loops of averaging parts of pictures (area_resize.h), for the processor at hand. All of them compute the
// same: sums are whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace evener::data
