// The JPEG previews in cameras' RAW files of the kinds that are built like TIFF files (Adobe, Canon's CR2, Nikon, Sony,
// Panasonic, Pentax, Samsung, ...), and of Fujifilm. Other kinds go through libraw.
#pragma once

#include <string_view>

#include "data/codecs/codecs.h"

namespace evener::data {

/// Whether the preview of a RAW file is found here.
bool has_known_preview(std::string_view file);

/// The header and the pixels of the largest preview. Its orientation is what the preview says of itself, else what the
/// camera says of the photo, see preview_orientation(). Throw Error with the reason.
StoredHeader read_raw_header(std::string_view file);
StoredPicture decode_raw(std::string_view file);

/// Which way up a preview of a size is: both orientations are EXIF's. What the preview says of itself counts; where
/// that is nothing, what the camera says of the photo, unless the preview lies already as the photo is to be seen.
/// `is_landscape`: of the photo, as the sensor lies.
int preview_orientation(std::int64_t height, std::int64_t width, int of_preview, int of_photo, bool is_landscape);

}  // namespace evener::data
