#include "data/codecs/exif.h"

#include <cstring>

namespace evener::data {

namespace {

enum TiffType : std::uint32_t { kByte = 1, kText = 2, kShort = 3, kLong = 4 };

struct TiffEntry {
  std::uint32_t type = 0;
  std::uint32_t first = 0;  // of its values, where it stands in the entry
};

std::optional<TiffEntry> entry_of(std::string_view tiff, std::uint16_t tag) {
  const TiffBytes reader{tiff, !tiff.starts_with("MM")};
  if (!tiff.starts_with("MM") && !tiff.starts_with("II")) return std::nullopt;
  if (reader.number(2, 2) != 42) return std::nullopt;
  const std::size_t directory = reader.number(4, 4);
  const std::uint32_t entries = reader.number(directory, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{12} * i;
    if (entry + 12 > tiff.size()) break;
    if (reader.number(entry, 2) != tag) continue;
    const std::uint32_t type = reader.number(entry + 2, 2);
    return TiffEntry{type, reader.number(entry + 8, type == kLong ? 4U : type == kShort ? 2U : 1U)};
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t TiffBytes::number(std::size_t at, std::size_t bytes) const {
  if (at > file.size() || file.size() - at < bytes) return 0;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value = value << 8 | static_cast<unsigned char>(file[is_little ? at + bytes - 1 - i : at + i]);
  }
  return value;
}

std::optional<std::uint32_t> tiff_number(std::string_view tiff, std::uint16_t tag) {
  const std::optional<TiffEntry> entry = entry_of(tiff, tag);
  if (!entry || entry->type < kByte || entry->type > kLong) return std::nullopt;
  return entry->first;
}

int exif_orientation(std::string_view tiff) {
  constexpr std::uint16_t kOrientationTag = 0x0112;
  const std::optional<TiffEntry> entry = entry_of(tiff, kOrientationTag);
  if (!entry || entry->type != kShort) return 1;
  return entry->first >= 1 && entry->first <= 8 ? static_cast<int>(entry->first) : 1;
}

int orientation_of_turns(int quarters, Mirror mirror) {
  static constexpr int kOrientations[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};
  return kOrientations[quarters & 3][static_cast<std::size_t>(mirror)];
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
