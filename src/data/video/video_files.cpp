#include "data/video/video_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string>

namespace evener::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kVideoExtensions = {".mp4"sv, ".m4v"sv,  ".mov"sv, ".qt"sv,   ".mkv"sv, ".webm"sv, ".avi"sv,
                                         ".mpg"sv, ".mpeg"sv, ".mts"sv, ".m2ts"sv, ".ts"sv,  ".3gp"sv,  ".3g2"sv,
                                         ".wmv"sv, ".flv"sv,  ".ogv"sv, ".vob"sv,  ".mxf"sv, ".dv"sv,   ".h264"sv,
                                         ".264"sv, ".h265"sv, ".265"sv, ".hevc"sv};

/// Brands of pictures in the container that MP4 has, too.
constexpr std::array kPictureBrands = {"heic"sv, "heix"sv, "heim"sv, "heis"sv, "hevc"sv, "hevx"sv,
                                       "mif1"sv, "msf1"sv, "avif"sv, "avis"sv, "jxl "sv, "crx "sv};

/// Packets of MPEG-TS begin with the same byte, every 188 bytes, or every 192 after a time of 4 bytes.
bool is_transport_stream(std::string_view head) {
  constexpr std::size_t kPackets = 4;
  for (const auto& [first, length] : {std::pair<std::size_t, std::size_t>{0, 188}, {4, 192}}) {
    std::size_t packets = 0;
    for (std::size_t at = first; at < head.size() && head[at] == 'G'; at += length) ++packets;
    if (packets >= kPackets) return true;
  }
  return false;
}

}  // namespace

bool has_video_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(kVideoExtensions, extension) != kVideoExtensions.end();
}

bool begins_as_video(std::string_view head) {
  if (head.size() >= 12) {
    const std::string_view box = head.substr(4, 4), brand = head.substr(8, 4);
    if (box == "ftyp") return std::ranges::find(kPictureBrands, brand) == kPictureBrands.end();
    for (const std::string_view old : {"moov"sv, "mdat"sv, "wide"sv, "pnot"sv}) {
      if (box == old) return true;
    }
    if (head.starts_with("RIFF"sv) && brand == "AVI "sv) return true;
  }
  constexpr std::array kBegins = {"\x1A\x45\xDF\xA3"sv,  // Matroska, WebM
                                  "\x00\x00\x01\xBA"sv,  // MPEG program stream
                                  "\x30\x26\xB2\x75"sv,  // ASF
                                  "OggS"sv,
                                  "FLV\x01"sv,
                                  "\x06\x0E\x2B\x34"sv /* MXF */};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return head.starts_with(begin); }) ||
         is_transport_stream(head);
}

bool is_video_file(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string head(kVideoHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return begins_as_video(head) || has_video_extension(path);
}

bool is_live_source(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
}

}  // namespace evener::data
