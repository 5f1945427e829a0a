#include "data/video/ffmpeg.h"

#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/codecs/decode.h"

namespace evener::data {
namespace {

/// Containers of videos and of moving pictures. What reads other files by name, such as playlists, isn't among them.
constexpr const char* kContainers =
    "mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,h264,hevc,m4v,ivf,mxf,nut,dv,obu,rm,yuv4mpegpipe,mjpeg,gif,"
    "apng";

constexpr const char* kPrograms[] = {"ffmpeg", "ffprobe"};

}  // namespace

void require_ffmpeg() {
  for (const char* const program : kPrograms) {
    if (find_program(program)) continue;
    throw Error("videos and cameras are read by the program " + std::string(program) +
                ", which was not found: install it (Debian: apt install ffmpeg)");
  }
}

FfmpegState ffmpeg_state() {
  constexpr double kLongest_s = 10;
  try {
    for (const char* const program : kPrograms) {
      if (!find_program(program)) return {"", "the program " + std::string(program) + " was not found"};
    }
    PipedChild child({kPrograms[0], "-version"}, {.silence_s = kLongest_s});
    std::string line;
    child.read_line(PipedChild::Output::kStdout, line);  // "ffmpeg version 5.1.9 Copyright ..."
    std::istringstream words(line);
    std::string name, version;
    if (words >> name >> name >> version) return {"FFmpeg " + version, ""};
    return {"", "the program ffmpeg doesn't tell its version"};
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return {"", error.what()};
  }
}

// "file:" makes a path of every name, "-i" or "http://" included.
std::vector<std::string> source_words(const std::filesystem::path& path) {
  return {"-protocol_whitelist",      "file", "-format_whitelist",    kContainers, "-max_pixels",
          std::to_string(kMaxPixels), "-i",   "file:" + path.string()};
}

std::vector<std::string> command_words(const std::string& options, const std::vector<std::string>& source,
                                       const std::string& more) {
  std::istringstream before(options), after(more);
  std::vector<std::string> words(std::istream_iterator<std::string>(before), {});
  words.insert(words.end(), source.begin(), source.end());
  words.insert(words.end(), std::istream_iterator<std::string>(after), {});
  return words;
}

std::uint64_t decoding_memory(std::int64_t pixels) {
  constexpr std::uint64_t kProgram = 2'000'000'000, kPixel = 8, kPictures = 64;
  return kProgram + static_cast<std::uint64_t>(pixels) * kPixel * kPictures;
}

// With "-v level+error" messages of the libraries are "[mov,mp4 @ 0x55d0c8a3e2c0] [error] moov atom not found", those
// of the program "[error] a.mp4: Invalid data found when processing input".
std::string error_of(const std::string& line, bool of_program) {
  for (const char* const level : {"[error] ", "[fatal] "}) {
    const auto begin = line.find(level);
    if (begin == std::string::npos || (begin == 0 && !of_program)) continue;
    constexpr std::size_t kLongest = 200;
    return line.substr(begin + std::string_view(level).size(), kLongest);
  }
  return "";
}

std::string last_error(const std::string& messages, bool of_program) {
  std::istringstream lines(messages);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (std::string error = error_of(line, of_program); !error.empty()) found = std::move(error);
  }
  return found;
}

}  // namespace evener::data
