// Boxes with their labels, drawn on pictures in the fonts that are installed; and cut out of them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/codecs/picture.h"
#include "detect/decoders/boxes.h"

namespace evener::detection {

/// How much ink lies on each pixel, from 0 to 255; rows from top to bottom.
struct TextMask {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> ink;
};

/// The folders of fontconfig's default settings, or those that the environment variable EVENER_FONTS names, separated
/// by colons.
std::vector<std::filesystem::path> font_folders();

/// Draws text with the TrueType and OpenType fonts anywhere below some folders: in a plain sans-serif font, and
/// characters that it lacks (Japanese, say) in any other font that has them. A character that no font has becomes an
/// empty box. Thread-safe.
class Lettering {
 public:
  explicit Lettering(const std::vector<std::filesystem::path>& folders = font_folders());
  ~Lettering();
  Lettering(const Lettering&) = delete;
  Lettering& operator=(const Lettering&) = delete;

  /// Whether any font was found; without one, masks are empty.
  bool has_fonts() const;

  /// Draws one line of text in UTF-8 as a mask of `height` pixels. Bytes that are not UTF-8 become empty boxes. The
  /// mask is empty without fonts or text.
  TextMask draw(std::string_view text, std::int64_t height) const;

 private:
  class Fonts;
  std::unique_ptr<Fonts> fonts_;
};

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

/// Colours of classes, safe for colour-blind readers (Okabe and Ito); after the last one comes the first again.
Colour class_colour(std::int32_t label);

/// A box to draw; corners in pixels of the picture.
struct DrawnBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string text;  // UTF-8; above the box's upper left corner, or inside where there is no room above; empty = no
                     // text
  Colour colour = {};
  bool is_dashed = false;
};

/// Draws the boxes on the picture. Lines and letters grow with the picture's shorter side; texts stay within the
/// picture, and are left out where `lettering` has no font. A grey picture becomes one in colour.
data::Picture with_boxes(data::Picture picture, std::span<const DrawnBox> boxes, const Lettering& lettering);

/// Cuts out the pixels that the box touches, at least one. The box must lie on the picture.
data::Picture cut_out(const data::Picture& picture, const Detection& box);

}  // namespace evener::detection
