// Pictures to JPEG files.
#pragma once

#include <string>

#include "data/codecs/picture.h"

namespace evener::data {

/// The bytes of a JPEG file of that quality, from 1 to 100. Throws Error with the reason: no extent may be more than
/// 65,500.
std::string encode_jpeg(const Picture& picture, int quality);

}  // namespace evener::data
