// The inner loops of resizing, for the processor at hand. All of them compute the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::data {

constexpr int kWeightBits = 22;  // 8 bits of value, 2 bits of headroom, 22 bits of weight: 32
constexpr std::int32_t kHalfWeight = std::int32_t{1} << (kWeightBits - 1);

/// The inputs of an output value and their weights, in units of 2^-22, which sum to about 1. The weights of a span are
/// followed by zeros up to a multiple of kWeightStep.
struct WeightSpan {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::size_t weights = 0;  // index of the first one
};
constexpr std::size_t kWeightStep = 8;

struct ResizeKernels {
  /// One row of a picture with 1 or 3 channels; reads and writes up to 8 bytes (Picture::kSlackBytes) beyond it, so
  /// that rows have to be done from top to bottom.
  void (*grey_row)(const std::uint8_t* in, std::uint8_t* out, const std::vector<WeightSpan>& spans,
                   const std::int32_t* weights);
  void (*colour_row)(const std::uint8_t* in, std::uint8_t* out, const std::vector<WeightSpan>& spans,
                     const std::int32_t* weights);
  /// out[i] = the sum of in[k * stride + i] * weights[k] over k < count, for i < values.
  void (*column)(const std::uint8_t* in, std::size_t stride, const std::int32_t* weights, std::int32_t count,
                 std::size_t values, std::uint8_t* out);
};

/// Plain C++.
const ResizeKernels& plain_resize_kernels();
/// The fastest that this processor can run.
const ResizeKernels& resize_kernels();

}  // namespace evener::data
