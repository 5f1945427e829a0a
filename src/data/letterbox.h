// Letterboxes: a whole picture on the network's image, with a plain colour beside it. Each family of detectors has its
// own, which differ in where the picture lies, in the colour and in how sizes are rounded.
#pragma once

#include <cstdint>

#include "data/image_shape.h"

namespace evener::data {

/// How the sides of the scaled picture become whole pixels.
enum class LetterboxRounding : std::uint8_t {
  kNearest,        // halves away from zero
  kNearestEven,    // halves to even, as Python's round()
  kDown,           // of the picture's side times the scale
  kDownFromRatio,  // one side is the image's, the other that divided by, or times, the picture's height / width
};

struct Letterbox {
  bool upper_left = false;  // the picture lies in that corner; false: in the middle
  std::uint8_t grey = 0;    // of the border
  LetterboxRounding rounding = LetterboxRounding::kNearest;
  /// Boxes are converted by one scale for both sides, from before sizes were rounded, as these families do it; false:
  /// by the ratio of the whole sizes of each side.
  bool one_scale = false;
};

/// The size that a picture is scaled to, and where its upper left corner then is on the network's image (negative: off
/// it).
struct PictureLayout {
  std::int64_t width = 0, height = 0;
  std::int64_t left = 0, top = 0;
  double scale_x = 1, scale_y = 1;  // by which points of the picture are multiplied
};

/// Where a picture of that size lies. Both sides have at least one pixel.
PictureLayout letterbox_layout(std::int64_t width, std::int64_t height, const ImageShape& shape,
                               const Letterbox& letterbox);

}  // namespace evener::data
