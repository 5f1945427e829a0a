// A decoded image in memory, and the shape that all images of a dataset have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

namespace evener::data {

struct ImageShape {
  std::int64_t channels = 0;  // 1 grey, 3 RGB
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const ImageShape&) const = default;
};

/// Eight bits per channel, rows from top to bottom: (height, width, channels).
struct Picture {
  /// Bytes of room beyond the pixels that loops may read and write, so that they can work on eight bytes at a time.
  static constexpr std::size_t kSlackBytes = 8;

  std::int64_t channels = 0;  // 1 grey, 3 RGB
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::unique_ptr<std::uint8_t[]> pixels;
  /// The largest value of a file with 16 bits per channel, of which the upper 8 were kept.
  std::optional<std::uint16_t> largest_of_16_bits = {};

  /// Room for a picture; the pixels are not set, so that a large one costs no memory before it is filled.
  static Picture unset(std::int64_t channels, std::int64_t height, std::int64_t width) {
    Picture picture{channels, height, width, nullptr, {}};
    picture.pixels = std::make_unique_for_overwrite<std::uint8_t[]>(picture.bytes() + kSlackBytes);
    return picture;
  }

  std::size_t bytes() const { return static_cast<std::size_t>(channels * height * width); }
  std::uint8_t* row(std::int64_t y) { return pixels.get() + y * width * channels; }
  const std::uint8_t* row(std::int64_t y) const { return pixels.get() + y * width * channels; }
};

/// A part of a picture: from (x, y), so many pixels.
struct PictureArea {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// A copy of the part, which lies on the picture.
inline Picture part_of(const Picture& picture, const PictureArea& area) {
  Picture part = Picture::unset(picture.channels, area.height, area.width);
  for (std::int64_t y = 0; y < area.height; ++y) {
    std::memcpy(part.row(y), picture.row(area.y + y) + area.x * picture.channels,
                static_cast<std::size_t>(area.width * picture.channels));
  }
  return part;
}

}  // namespace evener::data
