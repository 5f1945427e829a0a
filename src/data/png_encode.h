// Pictures to PNG files.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/image_shape.h"

namespace evener::data {

/// The bytes of a PNG file of an image given as (C, H, W) with 1 or 3 channels. Throws Error with the reason.
std::string encode_png(const ImageShape& shape, std::span<const std::uint8_t> chw);

}  // namespace evener::data
