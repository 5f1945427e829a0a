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
  std::string text;  // UTF-8; above its upper left corner, or within where there is no room; empty = none
  Colour colour = {};
  bool is_dashed = false;
};

/// Lines and letters grow with the picture's shorter side; labels stay within it, and are left out where `lettering`
/// has no font. A grey picture becomes one of colours.
data::Picture with_boxes(data::Picture picture, std::span<const DrawnBox> boxes, const Lettering& lettering);

/// The pixels that a box touches, of which there is at least one. The box lies on the picture.
data::Picture cut_out(const data::Picture& picture, const Detection& box);

}  // namespace evener::task
