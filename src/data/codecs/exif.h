// The one thing we want of EXIF data: which way is up.
#pragma once

#include <string_view>

#include "data/codecs/picture.h"

namespace evener::data {

/// The orientation (1 to 8) in a TIFF structure as EXIF stores it (without the "Exif\0\0" in front); 1 if it has none
/// or is damaged. Source: EXIF 2.32, tag 0x0112.
int exif_orientation(std::string_view tiff);

/// True where orientation exchanges width and height.
inline bool is_transposed(int orientation) {
  return orientation >= 5;
}

/// Turns a stored picture upright.
Picture turn_upright(Picture stored, int orientation);

}  // namespace evener::data
