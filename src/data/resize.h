// Antialiased resizing, equal to Pillow's Image.resize().
#pragma once

#include <cstdint>
#include <string>

#include "data/codecs/picture.h"

namespace evener::data {

/// What an output pixel is made of. Nearest takes one pixel; the others weigh pixels by a function that grows with the
/// shrink factor: a triangle, the cubic with a = -0.5, a sinc windowed by a sinc of three lobes.
enum class ResizeFilter : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos };
/// "nearest", "bilinear", "bicubic", "lanczos".
const char* resize_filter_name(ResizeFilter filter);
/// Throws UsageError, naming the nearest.
ResizeFilter parse_resize_filter(const std::string& name);

/// Resizes along rows and along columns, each with fixed-point weights of 22 bits and rounded to 8 bits in between:
/// bit-equal to Pillow 13 (older ones always begin with the rows, which differs by 1 at most). A picture of that size
/// comes back as it is. Throws Error for an extent below 1.
Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter = ResizeFilter::kBilinear);
/// With certain inner loops; the result is the same with all of them.
struct ResizeKernels;
Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter,
               const ResizeKernels& kernels);

/// A part of what resize() gives; only that is computed. Throws Error for an area that is empty or not within it.
Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter);

}  // namespace evener::data
