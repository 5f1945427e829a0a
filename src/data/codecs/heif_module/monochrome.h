// Whether a HEIF file is grey, which older libheif don't say before they have decoded it.
#pragma once

#include <string_view>

namespace evener::data::heif_module {

/// True where each picture that the file stores was coded without colour, as the properties of its items say (HEVC and
/// AV1); pictures of alpha and depth are so in files with colour too, but not alone. Sources: ISO/IEC 14496-12 (boxes),
/// 14496-15 (hvcC), the AV1 binding to ISO's base media format (av1C).
bool is_monochrome(std::string_view file);

}  // namespace evener::data::heif_module
