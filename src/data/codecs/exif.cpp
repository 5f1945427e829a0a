#include "data/codecs/exif.h"

#include <cstring>

namespace evener::data {

namespace {

/// Reads numbers of a TIFF structure; out of bounds gives 0.
struct TiffReader {
  std::string_view bytes;
  bool little = true;

  std::uint32_t number(std::size_t offset, int size) const {
    if (offset > bytes.size() || bytes.size() - offset < static_cast<std::size_t>(size)) return 0;
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
      const int from = little ? size - 1 - i : i;
      value = value << 8 | static_cast<unsigned char>(bytes[offset + static_cast<std::size_t>(from)]);
    }
    return value;
  }
};

}  // namespace

int exif_orientation(std::string_view tiff) {
  constexpr std::uint32_t kOrientationTag = 0x0112;
  constexpr std::uint32_t kShortType = 3;
  TiffReader reader{tiff};
  if (tiff.substr(0, 2) == "MM") {
    reader.little = false;
  } else if (tiff.substr(0, 2) != "II") {
    return 1;
  }
  if (reader.number(2, 2) != 42) return 1;
  const std::size_t directory = reader.number(4, 4);
  const std::uint32_t entries = reader.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (entry + 12 > tiff.size()) break;
    if (reader.number(entry, 2) != kOrientationTag || reader.number(entry + 2, 2) != kShortType) continue;
    const std::uint32_t value = reader.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture turn_upright(Picture stored, int orientation) {
  if (orientation <= 1 || orientation > 8) return stored;
  const std::int64_t channels = stored.channels, height = stored.height, width = stored.width;
  // Where the upright picture's first pixel comes from, and the steps to its right and lower neighbours.
  const bool transposed = is_transposed(orientation);
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::int64_t along_row = from_right ? -channels : channels;
  const std::int64_t along_column = (from_bottom ? -1 : 1) * width * channels;
  const std::int64_t right = transposed ? along_column : along_row;
  const std::int64_t down = transposed ? along_row : along_column;
  const std::uint8_t* corner =
      stored.pixels.get() + ((from_bottom ? height - 1 : 0) * width + (from_right ? width - 1 : 0)) * channels;

  Picture upright = transposed ? Picture::unset(channels, width, height) : Picture::unset(channels, height, width);
  upright.largest_of_16_bits = stored.largest_of_16_bits;
  for (std::int64_t y = 0; y < upright.height; ++y) {
    std::uint8_t* out = upright.row(y);
    for (std::int64_t x = 0; x < upright.width; ++x) {
      const std::uint8_t* in = corner + y * down + x * right;
      for (std::int64_t c = 0; c < channels; ++c) *out++ = in[c];
    }
  }
  return upright;
}

}  // namespace evener::data
