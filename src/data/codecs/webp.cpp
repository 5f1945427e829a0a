// WebP through libwebp; the container's EXIF chunk is found here.
#include <webp/decode.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

std::uint32_t little_endian(std::string_view file, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i > 0; --i) value = value << 8 | static_cast<unsigned char>(file[offset + i - 1]);
  return value;
}

/// Walks the chunks of the RIFF container: 4 letters, a length, the content, padded to an even length.
int orientation_of(std::string_view file) {
  constexpr std::size_t kFirstChunk = 12;
  for (std::size_t at = kFirstChunk; file.size() >= 8 && at <= file.size() - 8;) {
    const std::size_t length = little_endian(file, at + 4);
    std::string_view content = file.substr(at + 8, length);
    if (file.substr(at, 4) == "EXIF") {
      constexpr std::string_view kSignature("Exif\0\0", 6);  // some writers put JPEG's in front
      if (content.starts_with(kSignature)) content.remove_prefix(kSignature.size());
      return exif_orientation(content);
    }
    at += 8 + length + length % 2;
  }
  return 1;
}

[[noreturn]] void fail(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      throw Error("the WebP file is cut short");
    case VP8_STATUS_OUT_OF_MEMORY:
      throw Error("not enough memory to decode the WebP file");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      throw Error("the WebP file uses a feature that can't be decoded");
    default:
      throw Error("damaged WebP file (libwebp's status " + std::to_string(static_cast<int>(status)) + ")");
  }
}

const std::uint8_t* bytes_of(std::string_view file) {
  return reinterpret_cast<const std::uint8_t*>(file.data());
}

}  // namespace

StoredHeader read_webp_header(std::string_view file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(file), file.size(), &features);
  if (status != VP8_STATUS_OK) fail(status);
  if (features.has_animation != 0) throw Error("an animated WebP file; only still images are read");
  check_picture_size(features.width, features.height);
  return {3, features.height, features.width, orientation_of(file)};
}

StoredPicture decode_webp(std::string_view file) {
  const StoredHeader header = read_webp_header(file);
  const auto turn = wait_for_turn(header.width, header.height);
  Picture picture = Picture::unset(3, header.height, header.width);
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) throw Error("libwebp could not be started (another version?)");
  config.output.colorspace = MODE_RGB;  // without alpha, and without multiplying by it
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = picture.pixels.get();
  config.output.u.RGBA.stride = static_cast<int>(header.width * 3);
  config.output.u.RGBA.size = picture.bytes();
  const VP8StatusCode status = WebPDecode(bytes_of(file), file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) fail(status);
  return {std::move(picture), header.orientation};
}

}  // namespace evener::data
