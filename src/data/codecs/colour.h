// Between colour spaces and memory orders. The formulas are those of Pillow, so that data prepared with it fits.
#pragma once

#include <cstdint>
#include <span>

#include "data/codecs/picture.h"

namespace evener::data {

/// Rec. 601 luma as Pillow's convert("L"): (19595 R + 38470 G + 7471 B + 32768) / 65536.
inline std::uint8_t luma(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// An RGB picture as luma; a grey one comes back as it is.
Picture to_grey(Picture picture);

/// `count` pixels of CMYK, inverted as Adobe stores them (255 = no ink), to RGB.
void inverted_cmyk_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::int64_t count);

/// Writes (H, W, C) as (C, H, W) with `channels` planes; grey is repeated for three. `chw` has room for all planes.
void write_planes(const Picture& picture, std::int64_t channels, std::span<std::uint8_t> chw);

/// Three planes (3, H, W) as an RGB picture.
Picture from_planes(std::span<const std::uint8_t> chw, std::int64_t height, std::int64_t width);

}  // namespace evener::data
