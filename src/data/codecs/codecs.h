// What decode.cpp needs of each file format. Orientation is the EXIF value, 1 (upright) to 8.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "data/codecs/picture.h"

namespace evener::data {

struct StoredHeader {
  std::int64_t channels = 0;  // 1 or 3, after conversion
  std::int64_t height = 0;    // as stored
  std::int64_t width = 0;
  int orientation = 1;
  bool has_16_bits = false;  // the file has 16 bits per channel, of which the upper 8 are kept
  std::int64_t copies = 3;   // see PictureHeader
};

struct StoredPicture {
  Picture picture;  // as stored
  int orientation = 1;
};

/// The size to which a picture that is decoded quickly will be scaled.
struct FastTarget {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Throw Error with the reason.
StoredHeader read_jpeg_header(std::string_view file);
StoredPicture decode_jpeg(std::string_view file);
/// Decodes less exactly, and at an eighth, a quarter or half of the size where that is still as large as the target.
StoredPicture decode_jpeg_fast(std::string_view file, FastTarget upright_target);
StoredHeader read_png_header(std::string_view file);
StoredPicture decode_png(std::string_view file);
StoredHeader read_webp_header(std::string_view file);
StoredPicture decode_webp(std::string_view file);
StoredHeader read_bmp_header(std::string_view file);
StoredPicture decode_bmp(std::string_view file);
StoredHeader read_pnm_header(std::string_view file);
StoredPicture decode_pnm(std::string_view file);
/// Of an animation the first frame.
StoredHeader read_gif_header(std::string_view file);
StoredPicture decode_gif(std::string_view file);
/// Whether anything is shown after the first frame.
bool is_animated_gif(std::string_view file);

/// Throws Error for a picture without pixels or beyond kMaxPixels.
void check_picture_size(std::int64_t width, std::int64_t height);

/// A lock to be held while a picture is decoded. Giant pictures are decoded one after another, so that many threads
/// don't need many times their memory; for other pictures the lock is empty.
std::unique_lock<std::mutex> wait_for_turn(std::int64_t width, std::int64_t height);

/// What a module that decodes pictures gives: libheif, libavif, libjxl, libraw and libtiff stand behind one interface
/// each. Many threads call one decoder at the same time, each with a file of its own. Files are untrusted.
class PhotoDecoder {
 public:
  virtual ~PhotoDecoder() = default;
  /// Reads the header alone, no pixels. Throws Error with the reason.
  virtual StoredHeader read_header(std::string_view file) const = 0;
  /// The first picture of a file. Throws Error with the reason.
  virtual StoredPicture decode(std::string_view file) const = 0;
};

enum class PhotoFormat { kHeif, kAvif, kJpegXl, kRaw, kTiff };

/// The format of a telephone's or camera's file by its content; nothing where it is none of them. Looks at the first
/// bytes, and for RAW files that begin as TIFF files do at the first directory.
std::optional<PhotoFormat> photo_format(std::string_view file);

/// Opens the module of a format when it is first needed. Throws Error where that can't be had: it says what kind of
/// file this is, why not, and what to install.
const PhotoDecoder& photo_decoder(PhotoFormat format);

}  // namespace evener::data
