// Pictures to JPEG files.
#pragma once

#include <cstdint>
#include <string>

#include "data/codecs/picture.h"

namespace evener::data {

/// The longest side of a picture in a JPEG file, in pixels.
constexpr std::int64_t kMostJpegExtent = 65'500;

/// The bytes of a JPEG file of that quality, from 1 to 100. Throws Error with the reason, such as a side that is too
/// long.
std::string encode_jpeg(const Picture& picture, int quality);

}  // namespace evener::data
