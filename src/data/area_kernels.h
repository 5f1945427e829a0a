// The inner loops of averaging parts of pictures (area_resize.h), for the processor at hand. All of them compute the
// same: sums are whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::data {

/// Values of a pixel.
constexpr std::size_t kColours = 3;

/// No more rows may be summed up: 16 bits hold the sum of so many bytes. Nor may a window have more pixels: 31 bits
/// hold the sum of so many such sums.
constexpr std::int64_t kMostSummedRows = 65535 / 255, kMostWindowPixels = 32767;
/// Sums behind the last one that are read.
constexpr std::size_t kSumSlack = 1;

/// Which pixels of a row each output is made of.
struct AreaWindows {
  std::vector<std::int32_t> first;  // value of the first of them
  std::vector<std::int32_t> count;
  std::vector<float> widths;  // the same as count
};

struct AreaKernels {
  /// Sums of the values of `rows` rows, which lie `stride` bytes apart.
  void (*add_rows)(const std::uint8_t* in, std::size_t stride, std::int64_t rows, std::size_t values,
                   std::uint16_t* sums);
  /// The means of windows of three colours, whose rows were summed up, plane by plane.
  void (*colour_means)(const std::uint16_t* sums, const AreaWindows& windows, float rows, float* const* planes);
};

/// Plain C++.
const AreaKernels& plain_area_kernels();
/// The fastest that this processor can run.
const AreaKernels& area_kernels();

}  // namespace evener::data
