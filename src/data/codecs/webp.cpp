// WebP through libwebp; the container's EXIF chunk and an animation's first frame are found here. Source: Google's
// WebP container specification.
#include <webp/decode.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

std::uint32_t little_endian(std::string_view file, std::size_t offset, std::size_t bytes = 4) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i > 0; --i) value = value << 8 | static_cast<unsigned char>(file[offset + i - 1]);
  return value;
}

/// The content of the first chunk of a name in the RIFF container (4 letters, a length, the content, padded to an even
/// length); nothing where there is none.
std::optional<std::string_view> find_chunk(std::string_view file, std::string_view name) {
  constexpr std::size_t kFirstChunk = 12;
  for (std::size_t at = kFirstChunk; file.size() >= 8 && at <= file.size() - 8;) {
    const std::size_t length = little_endian(file, at + 4);
    if (file.substr(at, 4) == name) return file.substr(at + 8, length);
    at += 8 + length + length % 2;
  }
  return std::nullopt;
}

int orientation_of(std::string_view file) {
  constexpr std::string_view kSignature("Exif\0\0", 6);  // some writers put JPEG's in front
  std::string_view content = find_chunk(file, "EXIF").value_or("");
  if (content.starts_with(kSignature)) content.remove_prefix(kSignature.size());
  return exif_orientation(content);
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

/// `file`: of a still image, or the chunks of a frame. Its pixels go to the area of the picture.
void decode_into(std::string_view file, const PictureArea& area, Picture& picture) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) throw Error("libwebp could not be started (another version?)");
  const std::size_t first = static_cast<std::size_t>(area.y * picture.width + area.x) * 3;
  config.output.colorspace = MODE_RGB;  // without alpha, and without multiplying by it
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = picture.pixels.get() + first;
  config.output.u.RGBA.stride = static_cast<int>(picture.width * 3);
  config.output.u.RGBA.size = picture.bytes() - first;
  const VP8StatusCode status = WebPDecode(bytes_of(file), file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) fail(status);
}

/// What an animation shows first: its first frame, and black where that has no pixels.
void decode_first_frame(std::string_view file, Picture& picture) {
  constexpr std::size_t kFrameHeaderBytes = 16;
  const std::string_view frame = find_chunk(file, "ANMF").value_or("");
  if (frame.size() <= kFrameHeaderBytes) throw Error("the WebP file is cut short: it has no frame");
  const std::string_view chunks = frame.substr(kFrameHeaderBytes);
  const PictureArea area{std::int64_t{2} * little_endian(frame, 0, 3), std::int64_t{2} * little_endian(frame, 3, 3),
                         std::int64_t{1} + little_endian(frame, 6, 3), std::int64_t{1} + little_endian(frame, 9, 3)};
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(chunks), chunks.size(), &features);
  if (status != VP8_STATUS_OK) fail(status);
  if (features.width != area.width || features.height != area.height || features.has_animation != 0 ||
      area.x + area.width > picture.width || area.y + area.height > picture.height) {
    throw Error("damaged WebP file: its first frame does not fit");
  }
  std::memset(picture.pixels.get(), 0, picture.bytes());
  decode_into(chunks, area, picture);
}

WebPBitstreamFeatures features_of(std::string_view file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(file), file.size(), &features);
  if (status != VP8_STATUS_OK) fail(status);
  check_picture_size(features.width, features.height);
  return features;
}

}  // namespace

StoredHeader read_webp_header(std::string_view file) {
  const WebPBitstreamFeatures features = features_of(file);
  return {3, features.height, features.width, orientation_of(file)};
}

StoredPicture decode_webp(std::string_view file) {
  const WebPBitstreamFeatures features = features_of(file);
  const auto turn = wait_for_turn(features.width, features.height);
  Picture picture = Picture::unset(3, features.height, features.width);
  if (features.has_animation != 0) {
    decode_first_frame(file, picture);
  } else {
    decode_into(file, {0, 0, picture.width, picture.height}, picture);
  }
  return {std::move(picture), orientation_of(file)};
}

}  // namespace evener::data
