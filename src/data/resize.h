// Resizing, equal to Pillow's Image.resize(), which is antialiased, or to OpenCV's bilinear one, which isn't. The inner
// loops for the processor at hand all compute the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/codecs/picture.h"

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

/// The filter that weighs the input pixels of an output pixel. Nearest takes one pixel; the others a triangle, the
/// cubic with a = -0.5, or a sinc windowed by a sinc of three lobes, widened by the shrink factor. OpenCV's is a
/// triangle that is never widened (opencv_resize_part).
enum class ResizeFilter : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos, kOpenCv };
/// Of "nearest", "bilinear", "bicubic", "lanczos" or "opencv". Throws UsageError, naming the nearest.
ResizeFilter parse_resize_filter(const std::string& name);

/// Resizes along rows and along columns, each with fixed-point weights of 22 bits and rounded to 8 bits in between:
/// bit-equal to Pillow 13 (older ones always begin with the rows, which differs by 1 at most); kOpenCv bit-equal to
/// OpenCV. A picture of that size comes back as it is. Throws Error for an extent below 1.
Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter = ResizeFilter::kBilinear);
/// The same with the given inner loops, for tests and measurements; the result doesn't depend on them.
struct ResizeKernels;
Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter,
               const ResizeKernels& kernels);

/// Computes only the area `part` of the result of resize(). Throws Error for an area that is empty or not within the
/// result.
Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter);

/// Bilinear resizing between four pixels, equal to OpenCV's cv::resize() with INTER_LINEAR. It isn't antialiased: most
/// pixels of a picture that is made much smaller count for nothing. Detectors that were trained so expect it.
/// The area `part` of the picture resized to width x height. Weights have 11 bits; a row keeps 15 bits of its sums
/// until two rows are added: bit-equal to OpenCV 4 and 5 for 8 bits. The extents must be at least 1, the area within
/// the result and not empty; resize_part() checks both.
Picture opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width, const PictureArea& part);
/// The same, computed by plain C++, for tests.
Picture plain_opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width,
                                 const PictureArea& part);

/// "299x224" for 4000x3000: of the same proportions, with the 224 pixels on the shorter side that most networks are
/// made for. Empty where that would not be smaller.
std::string smaller_size(const ImageShape& shape);

}  // namespace evener::data
