#include "data/codecs/decode.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/module.h"
#include "data/codecs/codecs.h"
#include "data/codecs/exif.h"
#include "data/codecs/raw_preview.h"

namespace evener::data {
namespace {

struct PhotoModule {
  const char* module;
  const char* file;
};
/// By PhotoFormat.
constexpr PhotoModule kPhotoModules[] = {{"heif", "a HEIC file"},
                                         {"avif", "an AVIF file"},
                                         {"jxl", "a JPEG XL file"},
                                         {"raw", "a camera's RAW file"},
                                         {"tiff", "a TIFF file"}};

bool is_one_of(std::string_view brand, std::initializer_list<std::string_view> brands) {
  return std::find(brands.begin(), brands.end(), brand) != brands.end();
}

/// Files of ISO's base media format begin with a box "ftyp": a major brand, its version, and brands that the file
/// conforms to as well. Sources: ISO/IEC 14496-12, 23008-12 (HEIF), the AVIF specification, Canon's CR3.
std::optional<PhotoFormat> format_by_brands(std::string_view file) {
  constexpr std::size_t kMajor = 8, kOthers = 16, kMostBytes = 1024;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) bytes = bytes << 8 | static_cast<unsigned char>(file[i]);
  const std::string_view box = file.substr(0, std::min(bytes, kMostBytes));
  const std::string_view major = file.substr(kMajor, 4);
  if (major == "crx ") return PhotoFormat::kRaw;
  if (is_one_of(major, {"avif", "avis"})) return PhotoFormat::kAvif;
  if (is_one_of(major, {"heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"})) return PhotoFormat::kHeif;
  bool is_heif = is_one_of(major, {"mif1", "msf1", "mif2"});
  for (std::size_t at = kOthers; at + 4 <= box.size(); at += 4) {
    const std::string_view brand = box.substr(at, 4);
    if (is_one_of(brand, {"avif", "avis"})) return PhotoFormat::kAvif;
    is_heif = is_heif || is_one_of(brand, {"heic", "mif1"});
  }
  return is_heif ? std::optional(PhotoFormat::kHeif) : std::nullopt;
}

/// Whether what begins as a TIFF file is a camera's: its first picture is a small copy, or it has a sensor's values.
/// Sources: Adobe's DNG specification 1.6, TIFF/EP (ISO 12234-2).
bool is_raw_tiff(std::string_view file) {
  constexpr std::uint16_t kKind = 254, kPhotometric = 262, kMake = 271, kDngVersion = 50706;
  constexpr std::uint32_t kIsSmallCopy = 1, kSensor = 32803, kLinearSensor = 34892;
  if (file.size() >= 10 && file.substr(8, 2) == "CR") return true;  // Canon's CR2
  const auto number = [file](std::uint16_t tag) { return tiff_number(file, tag); };
  if (number(kDngVersion)) return true;
  const std::uint32_t photometric = number(kPhotometric).value_or(0);
  if (photometric == kSensor || photometric == kLinearSensor) return true;
  return (number(kKind).value_or(0) & kIsSmallCopy) != 0 && number(kMake);
}

bool is_raw(std::string_view file) {
  static constexpr std::string_view kBeginnings[] = {
      {"IIU\0", 4}, "IIRO", "IIRS", "MMOR", "FUJIFILMCCD-RAW", {"II\x1A\0\0\0HEAP", 10}, {"\0MRM", 4}, "FOVb"};
  for (const std::string_view beginning : kBeginnings) {
    if (file.starts_with(beginning)) return true;
  }
  const bool is_tiff = file.starts_with(std::string_view("II*\0", 4)) || file.starts_with(std::string_view("MM\0*", 4));
  return is_tiff && is_raw_tiff(file);
}

std::unique_ptr<const PhotoDecoder> open_decoder(PhotoFormat format) {
  const auto& [module, file] = kPhotoModules[static_cast<std::size_t>(format)];
  const ModuleStatus status = module_status(module);
  if (status.state == ModuleState::kUsable) {
    return std::unique_ptr<const PhotoDecoder>(static_cast<const PhotoDecoder*>(require_module(module).create()));
  }
  const std::string why = status.state == ModuleState::kNotBuilt      ? "is not built: "
                          : status.state == ModuleState::kNotLoadable ? "can't be loaded: " + status.reason + "; "
                                                                      : "can't be used: " + status.reason + "; ";
  throw Error(std::string(file) + ", and the module '" + module + "' that decodes it " + why + status.remedy);
}

/// Functions of this program, or a format that a module decodes.
struct Codec {
  std::string_view magic;
  StoredHeader (*read_header)(std::string_view file) = nullptr;
  StoredPicture (*decode)(std::string_view file) = nullptr;
  PhotoFormat photo = PhotoFormat::kTiff;
};

constexpr std::string_view kJpegMagic("\xFF\xD8\xFF", 3);
constexpr std::string_view kRiffMagic("RIFF");  // WebP, but also sound and video

constexpr Codec kCodecs[] = {{kJpegMagic, read_jpeg_header, decode_jpeg},
                             {{"\x89PNG\r\n\x1a\n", 8}, read_png_header, decode_png},
                             {kRiffMagic, read_webp_header, decode_webp},
                             {"BM", read_bmp_header, decode_bmp},
                             {{"II*\0", 4}},
                             {{"MM\0*", 4}},
                             {{"II+\0", 4}},  // BigTIFF
                             {{"MM\0+", 4}},
                             {"GIF87a", read_gif_header, decode_gif},
                             {"GIF89a", read_gif_header, decode_gif}};

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

Codec codec_of(std::string_view file) {
  if (file.empty()) throw Error("the file is empty");
  if (is_pnm(file)) return {"P", read_pnm_header, decode_pnm};
  if (const std::optional<PhotoFormat> photo = photo_format(file)) {
    if (photo == PhotoFormat::kRaw && has_known_preview(file)) return {"", read_raw_header, decode_raw};
    return {"", nullptr, nullptr, *photo};
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

StoredPicture decode_stored(const Codec& codec, std::string_view file) {
  return codec.decode != nullptr ? codec.decode(file) : photo_decoder(codec.photo).decode(file);
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

Animation animation_of(std::string_view file) {
  constexpr std::size_t kWebpFlags = 20, kBrand = 8;
  if (file.starts_with("GIF8")) return is_animated_gif(file) ? Animation::kFrames : Animation::kNone;
  if (file.starts_with("\x89PNG")) {
    const std::size_t control = file.find("acTL");  // stands before the pixels
    return control < file.find("IDAT") ? Animation::kFrames : Animation::kNone;
  }
  const bool is_webp = has_at(file, kBrand, "WEBPVP8X") && file.size() > kWebpFlags && (file[kWebpFlags] & 2) != 0;
  const bool is_sequence =
      has_at(file, 4, "ftyp") && is_one_of(file.substr(kBrand, 4), {"avis", "msf1", "hevc", "hevx", "hevm", "hevs"});
  return is_webp || is_sequence ? Animation::kFirst : Animation::kNone;
}

PictureHeader read_picture_header(std::string_view file) {
  const Codec codec = codec_of(file);
  const StoredHeader stored =
      codec.read_header != nullptr ? codec.read_header(file) : photo_decoder(codec.photo).read_header(file);
  PictureHeader header{stored.channels, stored.height, stored.width, stored.has_16_bits, stored.copies};
  if (is_transposed(stored.orientation)) std::swap(header.height, header.width);
  return header;
}

Picture decode_picture(std::string_view file) {
  StoredPicture stored = decode_stored(codec_of(file), file);
  return turn_upright(std::move(stored.picture), stored.orientation);
}

Picture decode_picture_fast(std::string_view file, std::int64_t height, std::int64_t width) {
  const Codec codec = codec_of(file);
  StoredPicture stored =
      codec.decode == decode_jpeg ? decode_jpeg_fast(file, {height, width}) : decode_stored(codec, file);
  return turn_upright(std::move(stored.picture), stored.orientation);
}

std::optional<PhotoFormat> photo_format(std::string_view file) {
  static constexpr std::string_view kJpegXlStream = "\xFF\x0A", kJpegXlBoxes("\0\0\0\x0CJXL \r\n\x87\n", 12);
  if (file.size() >= 12 && file.substr(4, 4) == "ftyp") return format_by_brands(file);
  if (file.starts_with(kJpegXlStream) || file.starts_with(kJpegXlBoxes)) return PhotoFormat::kJpegXl;
  if (is_raw(file)) return PhotoFormat::kRaw;
  return std::nullopt;
}

const PhotoDecoder& photo_decoder(PhotoFormat format) {
  static std::mutex mutex;
  static std::map<PhotoFormat, std::unique_ptr<const PhotoDecoder>> decoders;
  const std::lock_guard lock(mutex);
  const auto found = decoders.find(format);
  if (found != decoders.end()) return *found->second;
  return *decoders.emplace(format, open_decoder(format)).first->second;
}

}  // namespace evener::data
