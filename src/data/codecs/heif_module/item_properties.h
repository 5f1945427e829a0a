// What the properties of a HEIF file's items say that older libheif don't tell before they have decoded a picture.
// Sources: ISO/IEC 14496-12 (boxes), 23008-12 (HEIF), 14496-15 (hvcC), the AV1 binding to that format (av1C).
#pragma once

#include <optional>
#include <string_view>

namespace evener::data::heif_module {

/// True where each picture that the file stores was coded without colour (HEVC, AV1); pictures of alpha and depth are
/// so in files with colour too, but not alone.
bool is_monochrome(std::string_view file);

/// The EXIF orientation (1 to 8) that the file's picture gets by its properties "irot" and "imir". Nothing where it is
/// cropped too, is turned several times, or the file is damaged.
std::optional<int> orientation_of_primary(std::string_view file);

}  // namespace evener::data::heif_module
