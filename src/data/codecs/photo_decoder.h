// What a module that decodes pictures gives: libheif, libavif, libjxl, libraw and libtiff stand behind one interface each.
#pragma once

#include <string_view>

#include "data/codecs/codecs.h"

namespace evener::data {

/// Many threads call one decoder at the same time, each with a file of its own. Files are untrusted.
class PhotoDecoder {
 public:
  virtual ~PhotoDecoder() = default;
  /// Reads the header alone, no pixels. Throws Error with the reason.
  virtual StoredHeader read_header(std::string_view file) const = 0;
  /// The first picture of a file. Throws Error with the reason.
  virtual StoredPicture decode(std::string_view file) const = 0;
};

}  // namespace evener::data
