// Files to pictures, and pictures to JPEG and PNG files. Files are told apart by content, not by name: JPEG, PNG, WebP,
// GIF, BMP, TIFF and PNM (PBM, PGM, PPM); through modules HEIC, AVIF, JPEG XL and the previews in cameras' RAW files.
// Files are untrusted: sizes are checked before memory is taken, damaged and cut short files are refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/codecs/picture.h"

namespace evener::data {

/// Larger pictures are refused (2^28 pixels: 16384 x 16384).
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;

/// What the header of a file says.
struct PictureHeader {
  std::int64_t channels = 0;  // of the picture that decode_picture gives: 1 grey, 3 colour
  std::int64_t height = 0;    // upright
  std::int64_t width = 0;
  bool has_16_bits = false;  // per channel, of which the upper 8 are kept
  /// The most memory that decoding takes, as a multiple of the picture's own. Measured with 12 megapixels.
  std::int64_t copies = 3;
};

/// Why decode_picture() doesn't know the format of a file, by its first bytes alone; "" = it does.
std::string unknown_format(std::string_view file);

/// Pictures that move: decode_picture() gives the first frame.
enum class Animation : std::uint8_t {
  kNone,
  kFrames,  // GIF and PNG, of which FFmpeg gives all frames
  kFirst    // WebP, AVIF and HEIF, of which it gives none
};
/// By a whole file.
Animation animation_of(std::string_view file);

/// Reads the header alone. Throws Error as decode_picture() as far as the header shows it.
PictureHeader read_picture_header(std::string_view file);

/// Decodes a whole file, held in memory, to 8 bit, upright by its EXIF orientation. What becomes of it is what Pillow's
/// convert("L") or convert("RGB") would make of it: palettes are looked up, alpha is dropped, CMYK and YCCK (taken as
/// inverted, as Adobe writes them) become RGB. Of 16 bits per channel the upper 8 are kept; 10 and 12 bits of HEIC and
/// AVIF, and what JPEG XL has, are scaled to 8. Of TIFF files the first page, of animations the first frame is decoded.
/// Where HEIC, AVIF and JPEG XL say themselves which way is up, EXIF data is ignored.
/// Throws Error with the reason alone (the caller knows the file's name): empty, of no known format (and what it is
/// instead), cut short, damaged, too large, or of a format whose module can't be used (and what to install).
Picture decode_picture(std::string_view file);

/// As decode_picture(), for a picture that will be scaled to height x width: JPEG files are scaled while they are
/// decoded, to no less than that, and decoded less exactly, so that pixels differ a little from other programs'.
Picture decode_picture_fast(std::string_view file, std::int64_t height, std::int64_t width);

/// The longest side of a picture in a JPEG file, in pixels.
constexpr std::int64_t kMostJpegExtent = 65'500;

/// The bytes of a JPEG file of that quality, from 1 to 100. Throws Error with the reason, such as a side that is too
/// long.
std::string encode_jpeg(const Picture& picture, int quality);

/// The bytes of a PNG file of an image given as (C, H, W) with 1 or 3 channels. Throws Error with the reason.
std::string encode_png(const ImageShape& shape, std::span<const std::uint8_t> chw);

}  // namespace evener::data
