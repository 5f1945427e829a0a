#include "data/letterbox.h"

#include <algorithm>
#include <cmath>

namespace evener::data {
namespace {

struct Sides {
  double width = 0, height = 0;
};

/// The sides as InsightFace computes them, in the same order of operations: rounding down tells the least difference.
Sides sides_from_ratio(double width, double height, double image_width, double image_height) {
  const double ratio = height / width;
  if (ratio > image_height / image_width) return {std::floor(image_height / ratio), image_height};
  return {image_width, std::floor(image_width * ratio)};
}

/// To even where it lies between two whole numbers, as Python's round().
double to_even(double value) {
  const double below = std::floor(value), rest = value - below;
  if (rest != 0.5) return std::floor(value + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

}  // namespace

PictureLayout letterbox_layout(std::int64_t width, std::int64_t height, const ImageShape& shape,
                               const Letterbox& letterbox) {
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  const auto image_w = static_cast<double>(shape.width), image_h = static_cast<double>(shape.height);
  double scale = std::min(image_w / w, image_h / h);
  Sides sides{w * scale, h * scale};
  switch (letterbox.rounding) {
    case LetterboxRounding::kNearest:
      sides = {std::round(sides.width), std::round(sides.height)};
      break;
    case LetterboxRounding::kNearestEven:
      sides = {to_even(sides.width), to_even(sides.height)};
      break;
    case LetterboxRounding::kDown:
      sides = {std::floor(sides.width), std::floor(sides.height)};
      break;
    case LetterboxRounding::kDownFromRatio:
      sides = sides_from_ratio(w, h, image_w, image_h);
      scale = sides.height / h;
      break;
  }
  PictureLayout layout;
  layout.width = std::clamp<std::int64_t>(static_cast<std::int64_t>(sides.width), 1, shape.width);
  layout.height = std::clamp<std::int64_t>(static_cast<std::int64_t>(sides.height), 1, shape.height);
  if (!letterbox.upper_left) {
    // Ultralytics rounds half less a tenth, which comes to the same.
    layout.left = (shape.width - layout.width) / 2;
    layout.top = (shape.height - layout.height) / 2;
  }
  layout.scale_x = letterbox.one_scale && scale > 0 ? scale : static_cast<double>(layout.width) / w;
  layout.scale_y = letterbox.one_scale && scale > 0 ? scale : static_cast<double>(layout.height) / h;
  return layout;
}

}  // namespace evener::data
