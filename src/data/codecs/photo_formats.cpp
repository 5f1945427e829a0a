#include "data/codecs/photo_formats.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/module.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

struct PhotoModule {
  const char* module;
  const char* file;  // "a HEIC file"
};

PhotoModule module_of(PhotoFormat format) {
  switch (format) {
    case PhotoFormat::kHeif:
      return {"heif", "a HEIC file"};
    case PhotoFormat::kAvif:
      return {"avif", "an AVIF file"};
    case PhotoFormat::kJpegXl:
      return {"jxl", "a JPEG XL file"};
    case PhotoFormat::kRaw:
      return {"raw", "a camera's RAW file"};
    case PhotoFormat::kTiff:
      return {"tiff", "a TIFF file"};
  }
  throw Error("a format of photos that is none");
}

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

std::string why_not(const ModuleStatus& status) {
  switch (status.state) {
    case ModuleState::kNotBuilt:
      return "is not built: ";
    case ModuleState::kNotLoadable:
      return "can't be loaded: " + status.reason + "; ";
    default:
      return "can't be used: " + status.reason + "; ";
  }
}

std::unique_ptr<const PhotoDecoder> open_decoder(PhotoFormat format) {
  const auto [module, file] = module_of(format);
  const ModuleStatus status = module_status(module);
  if (status.state != ModuleState::kUsable) {
    throw Error(std::string(file) + ", and the module '" + module + "' that decodes it " + why_not(status) +
                status.remedy);
  }
  return std::unique_ptr<const PhotoDecoder>(static_cast<const PhotoDecoder*>(require_module(module).create()));
}

}  // namespace

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
