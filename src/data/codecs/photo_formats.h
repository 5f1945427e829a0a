// Formats whose libraries not every system has: a module decodes each. Those of telephones and cameras are told apart
// here.
#pragma once

#include <optional>
#include <string_view>

#include "data/codecs/codecs.h"

namespace evener::data {

enum class PhotoFormat { kHeif, kAvif, kJpegXl, kRaw, kTiff };

/// The format of a telephone's or camera's file by its content; nothing where it is none of them. Looks at the first
/// bytes, and for RAW files that begin as TIFF files do at the first directory.
std::optional<PhotoFormat> photo_format(std::string_view file);

/// Opens the module of a format when it is first needed. Throws Error where that can't be had: it says what kind of
/// file this is, why not, and what to install.
const PhotoDecoder& photo_decoder(PhotoFormat format);

}  // namespace evener::data
