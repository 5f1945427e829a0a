// The one thing we want of EXIF data: which way is up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "data/codecs/picture.h"

namespace evener::data {

/// The orientation (1 to 8) in a TIFF structure as EXIF stores it (without the "Exif\0\0" in front); 1 if it has none
/// or is damaged. Source: EXIF 2.32, tag 0x0112.
int exif_orientation(std::string_view tiff);

/// Numbers in a file of either byte order; beyond the end they are 0.
struct TiffBytes {
  std::string_view file;
  bool is_little = true;

  std::uint32_t number(std::size_t at, std::size_t bytes) const;
};

/// The first number of a tag in the first directory of a TIFF structure, of one, two or four bytes; of texts the first
/// letter. Nothing where there is no such tag, or the structure is damaged.
std::optional<std::uint32_t> tiff_number(std::string_view tiff, std::uint16_t tag);

enum class Mirror { kNone, kTopWithBottom, kLeftWithRight };
/// The orientation of a picture that has to be turned by quarters against the clock and then mirrored.
int orientation_of_turns(int quarters, Mirror mirror);

/// True where orientation exchanges width and height.
inline bool is_transposed(int orientation) {
  return orientation >= 5;
}

/// Turns a stored picture upright.
Picture turn_upright(Picture stored, int orientation);

}  // namespace evener::data
