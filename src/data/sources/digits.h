// Handwriting-like digits: stroke skeletons, varied per sample.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace evener::data {

/// The size the digits are laid out for; other sizes are scaled.
constexpr std::int64_t kDigitExtent = 28;

/// Draws a digit 0 to 9, white on black, filling `pixels` (height, width). What varies: the way of writing it, the
/// points of its strokes, slant, rotation, size, place, thickness, brightness, and noise.
void draw_digit(std::int32_t digit, Random random, std::int64_t width, std::int64_t height,
                std::span<std::uint8_t> pixels);

}  // namespace evener::data
