// Which way is up in an AVIF file.
#pragma once

#include <avif/avif.h>

namespace evener::data::avif_module {

/// The EXIF orientation (1 to 8) of the properties "irot" and "imir": turned first, then mirrored. Source: ISO/IEC
/// 23008-12 (HEIF), 6.5.10 and 6.5.12.
int orientation_of(const avifImage& image);

}  // namespace evener::data::avif_module
