#include "data/image_files.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/phase.h"
#include "data/codecs/decode.h"

namespace evener::data {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kExtensions[] = {
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png",  ".apng", ".bmp", ".dib",   ".gif",   ".webp", ".tif",   ".tiff", ".ppm",
    ".pgm", ".pnm",  ".pbm", ".jp2",  ".heic", ".heif", ".hif", ".heics", ".heifs", ".avif", ".avifs", ".jxl"};

/// Adobe and telephones, Canon, Nikon, Sony, Panasonic and Leica, Olympus, Fujifilm, Pentax, Samsung, Hasselblad, Phase
/// One, Sigma, Minolta, Epson, Kodak, Mamiya.
constexpr std::string_view kRawExtensions[] = {".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".sr2",
                                               ".srf", ".rw2", ".rwl", ".orf", ".raf", ".pef", ".srw", ".3fr",
                                               ".fff", ".iiq", ".x3f", ".mrw", ".erf", ".kdc", ".dcr", ".mef"};

}  // namespace

std::string lower_case(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

bool has_extension(const fs::path& file, std::initializer_list<std::string_view> extensions) {
  return std::ranges::find(extensions, lower_case(file.extension().string())) != extensions.end();
}

bool has_image_extension(const fs::path& path) {
  return std::ranges::find(kExtensions, lower_case(path.extension().string())) != std::end(kExtensions) ||
         has_raw_extension(path);
}

bool has_raw_extension(const fs::path& path) {
  return std::ranges::find(kRawExtensions, lower_case(path.extension().string())) != std::end(kRawExtensions);
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

std::string read_image_file(const fs::path& path) {
  constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
  const PhaseMark mark(Phase::kRead);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) throw Error("not a regular file");
  try {
    return read_file(path, kMaxFileBytes);
  } catch (const Error& failure) {
    const std::string known = "can't read '" + path.string() + "': ";
    const std::string message = failure.what();
    throw Error(message.starts_with(known) ? "can't be read: " + message.substr(known.size()) : message);
  } catch (const std::bad_alloc&) {
    throw Error("not enough memory to read it");
  }
}

Picture decode_image_file(std::string_view file) {
  try {
    const PhaseMark mark(Phase::kDecode);
    return decode_picture(file);
  } catch (const std::bad_alloc&) {
    throw Error("not enough memory to decode it");
  }
}

}  // namespace evener::data
