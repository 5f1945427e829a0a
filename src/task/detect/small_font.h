// Letters for pictures: 5 x 7 pixels, capitals, digits and what names of classes have besides.
#pragma once

#include <array>
#include <cstdint>

namespace evener::task {

constexpr int kGlyphWidth = 5, kGlyphHeight = 7;

/// Rows from top to bottom; of each the lowest five bits, the leftmost pixel the highest of them.
using Glyph = std::array<std::uint8_t, kGlyphHeight>;

/// Small letters look as capitals; what the font doesn't have is an empty box.
const Glyph& glyph_of(char letter);

}  // namespace evener::task
