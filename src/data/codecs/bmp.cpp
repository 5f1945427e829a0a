// Windows bitmaps: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, uncompressed or with bit masks. Run lengths are
// refused. Source: Microsoft's documentation of BITMAPFILEHEADER, BITMAPINFOHEADER and BITMAPV4HEADER.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"

namespace evener::data {

namespace {

using Colour = std::array<std::uint8_t, 3>;

struct BmpHeader {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool is_bottom_up = true;
  std::uint32_t bits = 0;                // per pixel
  std::array<std::uint32_t, 3> masks{};  // red, green, blue; of 16 and 32 bits
  std::size_t pixels_begin = 0;
  std::array<Colour, 256> palette{};  // what the file lacks is black
  bool is_grey = false;               // all its colours are

  std::int64_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
};

std::uint32_t number(std::string_view file, std::size_t offset, std::size_t bytes) {
  if (file.size() < offset + bytes) throw Error("the BMP file is cut short");
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i > 0; --i) value = value << 8 | static_cast<unsigned char>(file[offset + i - 1]);
  return value;
}

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::uint32_t kOldInfoBytes = 12, kInfoBytes = 40;
constexpr std::uint32_t kUncompressed = 0, kMasks = 3, kMasksWithAlpha = 6;

void read_masks(std::string_view file, std::uint32_t compression, BmpHeader& header) {
  if (header.bits == 16) header.masks = {0x7C00, 0x03E0, 0x001F};
  if (header.bits == 32) header.masks = {0xFF0000, 0xFF00, 0xFF};
  if (compression == kUncompressed) return;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::uint32_t mask = number(file, kFileHeaderBytes + kInfoBytes + 4 * c, 4);
    header.masks[c] = mask;
    const bool is_run = mask != 0 && ((mask >> std::countr_zero(mask)) & ((mask >> std::countr_zero(mask)) + 1)) == 0;
    if (!is_run) throw Error("damaged BMP file: an impossible bit mask " + std::to_string(mask));
  }
}

void read_palette(std::string_view file, std::uint32_t info_bytes, BmpHeader& header) {
  const std::uint32_t stored = info_bytes == kOldInfoBytes ? 0 : number(file, kFileHeaderBytes + 32, 4);
  const std::uint32_t possible = 1u << header.bits;
  const std::uint32_t count = stored == 0 ? possible : std::min(stored, possible);
  const std::size_t entry_bytes = info_bytes == kOldInfoBytes ? 3 : 4;
  header.is_grey = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t bgr = number(file, kFileHeaderBytes + info_bytes + i * entry_bytes, 3);
    header.palette[i] = {static_cast<std::uint8_t>(bgr >> 16), static_cast<std::uint8_t>(bgr >> 8),
                         static_cast<std::uint8_t>(bgr)};
    const Colour& colour = header.palette[i];
    header.is_grey = header.is_grey && colour[0] == colour[1] && colour[1] == colour[2];
  }
}

void read_extents(std::string_view file, std::uint32_t info_bytes, BmpHeader& header) {
  if (info_bytes == kOldInfoBytes) {
    header.width = number(file, 18, 2);
    header.height = number(file, 20, 2);
    header.bits = number(file, 24, 2);
    return;
  }
  header.width = static_cast<std::int32_t>(number(file, 18, 4));
  header.height = static_cast<std::int32_t>(number(file, 22, 4));
  header.bits = number(file, 28, 2);
  if (header.height < 0) {  // a negative one says that the top row comes first
    header.height = -header.height;
    header.is_bottom_up = false;
  }
}

BmpHeader parse_bmp_header(std::string_view file) {
  BmpHeader header;
  header.pixels_begin = number(file, 10, 4);
  const std::uint32_t info_bytes = number(file, 14, 4);
  if (info_bytes != kOldInfoBytes && (info_bytes < kInfoBytes || info_bytes > 1024)) {
    throw Error("damaged BMP file: its header has " + std::to_string(info_bytes) + " bytes");
  }
  read_extents(file, info_bytes, header);
  const std::uint32_t compression = info_bytes == kOldInfoBytes ? kUncompressed : number(file, 30, 4);
  const bool has_masks =
      (compression == kMasks || compression == kMasksWithAlpha) && (header.bits == 16 || header.bits == 32);
  if (compression != kUncompressed && !has_masks) {
    throw Error("the BMP file is compressed (kind " + std::to_string(compression) + "), which is not read");
  }
  static constexpr std::array<std::uint32_t, 6> kBits = {1, 4, 8, 16, 24, 32};
  if (std::find(kBits.begin(), kBits.end(), header.bits) == kBits.end()) {
    throw Error("damaged BMP file: " + std::to_string(header.bits) + " bits per pixel");
  }
  check_picture_size(header.width, header.height);
  if (header.bits <= 8) {
    read_palette(file, info_bytes, header);
  } else {
    read_masks(file, compression, header);
  }
  const auto needed = static_cast<std::uint64_t>(header.row_bytes() * header.height);
  if (header.pixels_begin > file.size() || file.size() - header.pixels_begin < needed) {
    throw Error("the BMP file is cut short");
  }
  return header;
}

/// The masked part of a value, stretched to 8 bits.
std::uint8_t part_of(std::uint32_t value, std::uint32_t mask) {
  const int shift = std::countr_zero(mask);
  const std::uint64_t largest = mask >> shift;
  return static_cast<std::uint8_t>(((value & mask) >> shift) * std::uint64_t{255} / largest);
}

void read_row(const BmpHeader& header, const unsigned char* in, std::uint8_t* out) {
  const std::uint32_t bits = header.bits;
  for (std::int64_t x = 0; x < header.width; ++x) {
    Colour colour{};
    if (bits <= 8) {
      const std::int64_t first_bit = x * bits;
      const std::int64_t shift = 8 - bits - first_bit % 8;
      colour = header.palette[in[first_bit / 8] >> shift & ((1u << bits) - 1)];
    } else if (bits == 24) {
      colour = {in[3 * x + 2], in[3 * x + 1], in[3 * x]};
    } else {
      const std::int64_t bytes = bits / 8;
      std::uint32_t value = 0;
      for (std::int64_t i = bytes; i > 0; --i) value = value << 8 | in[bytes * x + i - 1];
      for (std::size_t c = 0; c < 3; ++c) colour[c] = part_of(value, header.masks[c]);
    }
    *out++ = colour[0];
    if (header.is_grey) continue;
    *out++ = colour[1];
    *out++ = colour[2];
  }
}

}  // namespace

StoredHeader read_bmp_header(std::string_view file) {
  const BmpHeader header = parse_bmp_header(file);
  return {header.is_grey ? 1 : 3, header.height, header.width, 1};
}

StoredPicture decode_bmp(std::string_view file) {
  const BmpHeader header = parse_bmp_header(file);
  const auto turn = wait_for_turn(header.width, header.height);
  Picture picture = Picture::unset(header.is_grey ? 1 : 3, header.height, header.width);
  const auto* row = reinterpret_cast<const unsigned char*>(file.data()) + header.pixels_begin;
  for (std::int64_t y = 0; y < header.height; ++y, row += header.row_bytes()) {
    read_row(header, row, picture.row(header.is_bottom_up ? header.height - 1 - y : y));
  }
  return {std::move(picture), 1};
}

}  // namespace evener::data
