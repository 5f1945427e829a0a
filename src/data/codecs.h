// What decode.cpp needs of each file format. Orientation is the EXIF value, 1 (upright) to 8.
#pragma once

#include <mutex>
#include <string_view>

#include "data/picture.h"

namespace evener::data {

struct StoredHeader {
  std::int64_t channels = 0;  // 1 or 3, after conversion
  std::int64_t height = 0;    // as stored
  std::int64_t width = 0;
  int orientation = 1;
};

struct StoredPicture {
  Picture picture;  // as stored
  int orientation = 1;
};

/// Throw Error with the reason.
StoredHeader read_jpeg_header(std::string_view file);
StoredPicture decode_jpeg(std::string_view file);
StoredHeader read_png_header(std::string_view file);
StoredPicture decode_png(std::string_view file);

/// Throws Error for a picture without pixels or beyond kMaxPixels.
void check_picture_size(std::int64_t width, std::int64_t height);

/// To be held while a picture is decoded. Giant pictures are decoded one after another, so that many threads don't need
/// many times their memory; for others the lock is empty.
std::unique_lock<std::mutex> wait_for_turn(std::int64_t width, std::int64_t height);

}  // namespace evener::data
