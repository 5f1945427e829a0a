#include "data/decode.h"

#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs.h"
#include "data/exif.h"

namespace evener::data {

namespace {

enum class Format { kJpeg, kPng };

constexpr std::string_view kJpegMagic("\xFF\xD8\xFF", 3);
constexpr std::string_view kPngMagic("\x89PNG\r\n\x1a\n", 8);

/// What else a file may be, for the message.
std::string other_format(std::string_view file) {
  if (file.starts_with("GIF8")) return "a GIF file";
  if (file.starts_with("BM")) return "a BMP file";
  const auto has_at = [file](std::size_t offset, std::string_view text) {
    return file.size() >= offset && file.substr(offset, text.size()) == text;
  };
  if (file.starts_with("RIFF") && has_at(8, "WEBP")) return "a WebP file";
  if (file.starts_with("II*") || file.starts_with(std::string_view("MM\0*", 4))) return "a TIFF file";
  if (has_at(4, "ftyp")) return "a HEIF, AVIF or video file";
  if (file.starts_with("%PDF")) return "a PDF file";
  for (const char c : file.substr(0, 64)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 && byte != '\n' && byte != '\r' && byte != '\t') return "something else";
  }
  return "a text file";
}

Format format_of(std::string_view file) {
  if (file.empty()) throw Error("the file is empty");
  if (file.starts_with(kJpegMagic)) return Format::kJpeg;
  if (file.starts_with(kPngMagic)) return Format::kPng;
  const bool is_beginning = kJpegMagic.starts_with(file) || kPngMagic.starts_with(file);
  if (is_beginning) throw Error("the file is cut short: it has " + std::to_string(file.size()) + " bytes");
  throw Error("neither JPEG nor PNG, but " + other_format(file));
}

StoredHeader stored_header(std::string_view file) {
  return format_of(file) == Format::kJpeg ? read_jpeg_header(file) : read_png_header(file);
}

}  // namespace

void check_picture_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    throw Error("the image has no pixels (" + std::to_string(width) + "x" + std::to_string(height) + ")");
  }
  if (width > kMaxPixels / height) {
    throw Error("the image is too large: " + std::to_string(width) + "x" + std::to_string(height) +
                " pixels, at most " + std::to_string(kMaxPixels) + " are decoded");
  }
}

std::unique_lock<std::mutex> wait_for_turn(std::int64_t width, std::int64_t height) {
  constexpr std::int64_t kGiantPixels = std::int64_t{1} << 25;
  static std::mutex giants;
  return width * height < kGiantPixels ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(giants);
}

PictureHeader read_picture_header(std::string_view file) {
  const StoredHeader stored = stored_header(file);
  PictureHeader header{stored.channels, stored.height, stored.width};
  if (is_transposed(stored.orientation)) std::swap(header.height, header.width);
  return header;
}

Picture decode_picture(std::string_view file) {
  StoredPicture stored = format_of(file) == Format::kJpeg ? decode_jpeg(file) : decode_png(file);
  return turn_upright(std::move(stored.picture), stored.orientation);
}

}  // namespace evener::data
