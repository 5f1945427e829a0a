// Bilinear resizing between four pixels, equal to OpenCV's cv::resize() with INTER_LINEAR. It isn't antialiased: most
// pixels of a picture that is made much smaller count for nothing. Detectors that were trained so expect it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/codecs/picture.h"

namespace evener::data {

/// The area `part` of the picture resized to width x height. Weights have 11 bits; a row keeps 15 bits of its sums
/// until two rows are added: bit-equal to OpenCV 4 and 5 for 8 bits. The extents must be at least 1, the area within
/// the result and not empty; resize_part() of resize.h checks both.
Picture opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width, const PictureArea& part);
/// The same, computed by plain C++, for tests.
Picture plain_opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width,
                                 const PictureArea& part);

}  // namespace evener::data
