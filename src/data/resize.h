// Resizing, equal to Pillow's Image.resize(), which is antialiased, or to OpenCV's bilinear one, which isn't.
#pragma once

#include <cstdint>
#include <string>

#include "data/codecs/picture.h"

namespace evener::data {

/// The filter that weighs the input pixels of an output pixel. Nearest takes one pixel; the others a triangle, the
/// cubic with a = -0.5, or a sinc windowed by a sinc of three lobes, widened by the shrink factor. OpenCV's is a
/// triangle that is never widened (opencv_resize.h).
enum class ResizeFilter : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos, kOpenCv };
/// "nearest", "bilinear", "bicubic", "lanczos", "opencv".
const char* resize_filter_name(ResizeFilter filter);
/// Throws UsageError, naming the nearest.
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

}  // namespace evener::data
