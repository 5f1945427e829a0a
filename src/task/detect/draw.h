// Boxes with their labels, drawn on pictures; and cut out of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "data/codecs/picture.h"
#include "task/detect/decode.h"
#include "task/detect/lettering.h"

namespace evener::task {

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

}  // namespace evener::task
