#include "data/codecs/decode.h"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/exif.h"
#include "data/codecs/photo_formats.h"
#include "data/codecs/raw_preview.h"

namespace evener::data {

namespace {

struct Codec {
  std::string_view magic;
  StoredHeader (*read_header)(std::string_view file);
  StoredPicture (*decode)(std::string_view file);
};

constexpr std::string_view kJpegMagic("\xFF\xD8\xFF", 3);
constexpr std::string_view kRiffMagic("RIFF");  // WebP, but also sound and video

template <PhotoFormat format>
StoredHeader read_photo_header(std::string_view file) {
  return photo_decoder(format).read_header(file);
}
template <PhotoFormat format>
StoredPicture decode_photo(std::string_view file) {
  return photo_decoder(format).decode(file);
}
template <PhotoFormat format>
constexpr Codec photo_codec_of(std::string_view magic) {
  return {magic, read_photo_header<format>, decode_photo<format>};
}

constexpr Codec kCodecs[] = {
    {kJpegMagic, read_jpeg_header, decode_jpeg},      {{"\x89PNG\r\n\x1a\n", 8}, read_png_header, decode_png},
    {kRiffMagic, read_webp_header, decode_webp},      {"BM", read_bmp_header, decode_bmp},
    photo_codec_of<PhotoFormat::kTiff>({"II*\0", 4}), photo_codec_of<PhotoFormat::kTiff>({"MM\0*", 4}),
    photo_codec_of<PhotoFormat::kTiff>({"II+\0", 4}),  // BigTIFF
    photo_codec_of<PhotoFormat::kTiff>({"MM\0+", 4}), {"GIF87a", read_gif_header, decode_gif},
    {"GIF89a", read_gif_header, decode_gif}};

template <PhotoFormat format>
constexpr Codec kPhotoCodec = photo_codec_of<format>("");

const Codec& photo_codec(PhotoFormat format) {
  switch (format) {
    case PhotoFormat::kHeif:
      return kPhotoCodec<PhotoFormat::kHeif>;
    case PhotoFormat::kAvif:
      return kPhotoCodec<PhotoFormat::kAvif>;
    case PhotoFormat::kJpegXl:
      return kPhotoCodec<PhotoFormat::kJpegXl>;
    case PhotoFormat::kTiff:
      return kPhotoCodec<PhotoFormat::kTiff>;
    case PhotoFormat::kRaw:
      break;
  }
  return kPhotoCodec<PhotoFormat::kRaw>;
}

bool has_at(std::string_view file, std::size_t offset, std::string_view text) {
  return file.size() >= offset && file.substr(offset, text.size()) == text;
}

/// 'P', a digit from 1 to 6, and white space.
bool is_pnm(std::string_view file) {
  return file.size() >= 3 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' &&
         (file[2] == ' ' || file[2] == '\n' || file[2] == '\r' || file[2] == '\t' || file[2] == '#');
}

/// Other formats that a file may have, for the error message.
std::string other_format(std::string_view file) {
  if (file.starts_with("RIFF")) return "a sound or video file";
  if (has_at(file, 4, "ftyp")) return "a video file";
  if (file.starts_with(std::string_view("\0\0\0\x0CjP  ", 8))) return "a JPEG 2000 file";
  if (file.starts_with("%PDF")) return "a PDF file";
  for (const char c : file.substr(0, 64)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 && byte != '\n' && byte != '\r' && byte != '\t') return "something else";
  }
  return "a text file";
}

const Codec& codec_of(std::string_view file) {
  static constexpr Codec kPnm{"P", read_pnm_header, decode_pnm};
  if (file.empty()) throw Error("the file is empty");
  if (is_pnm(file)) return kPnm;
  if (const std::optional<PhotoFormat> photo = photo_format(file)) {
    static constexpr Codec kRaw{"", read_raw_header, decode_raw};
    return photo == PhotoFormat::kRaw && has_known_preview(file) ? kRaw : photo_codec(*photo);
  }
  bool is_beginning = file == "P" || (file.size() < 12 && (file.starts_with(kRiffMagic) || has_at(file, 4, "ftyp")));
  for (const Codec& codec : kCodecs) {
    const bool is_webp = codec.magic != kRiffMagic || has_at(file, 8, "WEBP");
    if (file.starts_with(codec.magic) && is_webp) return codec;
    is_beginning = is_beginning || codec.magic.starts_with(file);
  }
  if (is_beginning) throw Error("the file is cut short: it has " + std::to_string(file.size()) + " bytes");
  throw Error("no JPEG, PNG, WebP, GIF, HEIC, AVIF, JPEG XL, RAW, BMP, TIFF or PNM file, but " + other_format(file));
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

std::string unknown_format(std::string_view file) {
  try {
    codec_of(file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

PictureHeader read_picture_header(std::string_view file) {
  const StoredHeader stored = codec_of(file).read_header(file);
  PictureHeader header{stored.channels, stored.height, stored.width, stored.has_16_bits, stored.copies};
  if (is_transposed(stored.orientation)) std::swap(header.height, header.width);
  return header;
}

Picture decode_picture(std::string_view file) {
  StoredPicture stored = codec_of(file).decode(file);
  return turn_upright(std::move(stored.picture), stored.orientation);
}

Picture decode_picture_fast(std::string_view file, std::int64_t height, std::int64_t width) {
  const Codec& codec = codec_of(file);
  const bool is_jpeg = codec.magic == kJpegMagic;
  StoredPicture stored = is_jpeg ? decode_jpeg_fast(file, {height, width}) : codec.decode(file);
  return turn_upright(std::move(stored.picture), stored.orientation);
}

}  // namespace evener::data
