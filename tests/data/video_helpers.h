// Videos that tests make themselves, by the module's own writer.
#pragma once

#include <filesystem>
#include <string>

#include "data/codecs/picture.h"
#include "data/video/video.h"

namespace evener::test {

/// A picture that differs from all others of its number: a light square on dark ground, one pixel farther right and
/// lighter in each.
inline data::Picture numbered_frame(int number, int width = 64, int height = 48) {
  data::Picture picture = data::Picture::unset(3, height, width);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int left = number % (width - 16);
      const bool is_square = x >= left && x < left + 16 && y >= 8 && y < 32;
      std::uint8_t* const pixel = picture.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(is_square ? 100 + number % 150 : 16);
      pixel[1] = static_cast<std::uint8_t>(is_square ? 200 : 2 * y);
      pixel[2] = static_cast<std::uint8_t>(is_square ? 60 : 2 * x);
    }
  }
  return picture;
}

/// Writes frames 0 to `count`-1 with 25 a second. `format`: its size is filled in.
inline void write_video(const std::filesystem::path& path, int count, data::VideoFormat format = {}) {
  const data::Picture first = numbered_frame(0);
  format.width = first.width;
  format.height = first.height;
  const auto writer = data::video_codecs().create(path, format);
  for (int i = 0; i < count; ++i) writer->add(numbered_frame(i), i / format.rate);
  writer->finish();
}

}  // namespace evener::test
