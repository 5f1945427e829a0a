// Videos that tests make themselves.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/video/ffmpeg.h"

namespace evener::test {

/// Whether videos can be read here.
inline bool has_ffmpeg() {
  return find_program("ffmpeg") && find_program("ffprobe");
}

/// A picture that differs from all others of its number: a light square on dark ground, one pixel farther right and
/// lighter in each.
inline data::Picture numbered_frame(int number, int width = 64, int height = 48) {
  data::Picture picture = data::Picture::unset(3, height, width);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int left = number % (width - 16);
      const bool is_square = x >= left && x < left + 16 && y >= 8 && y < 32;
      std::uint8_t* const pixel = picture.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(is_square ? 100 + number % 150 : 16);
      pixel[1] = static_cast<std::uint8_t>(is_square ? 200 : 2 * y);
      pixel[2] = static_cast<std::uint8_t>(is_square ? 60 : 2 * x);
    }
  }
  return picture;
}

/// How a video is made for a test.
struct MadeVideo {
  std::string codec = "ffv1";   // which keeps pixels as they are
  std::string options = {};     // more words for ffmpeg, such as "-g 12 -bf 2"
  std::string pixels = "bgr0";  // such as "yuv420p"
  /// In a .mov file: how players are told to show it, a, b, c and d of its track's matrix. Empty = as it is stored.
  std::vector<double> matrix = {};
  int first = 0;            // the number of the first frame
  std::string rate = "25";  // frames a second
};
inline const MadeVideo kMpeg4 = {.codec = "mpeg4", .options = "-q:v 3", .pixels = "yuv420p"};

/// A program that does as a test says in place of ffmpeg or ffprobe, while this lives. For its script that one is
/// `$real`.
class MadeUpProgram {
 public:
  MadeUpProgram(const std::filesystem::path& folder, const std::string& name, const std::string& script)
      : before_(std::getenv("PATH")) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name) << "#!/bin/sh\nPATH='" << before_ << "'\nreal=" << name << "\n" << script << "\n";
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder.string() + ":" + before_).c_str(), 1);
  }
  ~MadeUpProgram() { ::setenv("PATH", before_.c_str(), 1); }
  MadeUpProgram(const MadeUpProgram&) = delete;
  MadeUpProgram& operator=(const MadeUpProgram&) = delete;

 private:
  const std::string before_;
};

/// Runs ffmpeg.
inline void run_ffmpeg(const std::string& words) {
  if (std::system(("ffmpeg -nostdin -v error -y " + words).c_str()) != 0) throw std::runtime_error("ffmpeg " + words);
}

/// Writes `count` frames by the program ffmpeg.
inline void write_video(const std::filesystem::path& path, int count, const MadeVideo& made = {}) {
  const data::Picture first = numbered_frame(0);
  const std::string command = "ffmpeg -nostdin -v error -y -f rawvideo -pix_fmt rgb24 -framerate " + made.rate +
                              " -s " + std::to_string(first.width) + "x" + std::to_string(first.height) +
                              " -i pipe:0 -c:v " + made.codec + " -pix_fmt " + made.pixels + " " + made.options + " '" +
                              path.string() + "'";
  FILE* const program = ::popen(command.c_str(), "w");
  if (program == nullptr) throw std::runtime_error("can't start ffmpeg");
  for (int i = 0; i < count; ++i) {
    const data::Picture picture = numbered_frame(made.first + i);
    std::fwrite(picture.row(0), 1, picture.bytes(), program);
  }
  if (::pclose(program) != 0) throw std::runtime_error("ffmpeg can't write " + path.string());
  if (made.matrix.empty()) return;
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  // The matrix of the track's header: a, b, 0; c, d, 0; x, y, 1.
  const std::size_t matrix = bytes.find("tkhd") + 44;
  for (std::size_t i = 0; i < made.matrix.size(); ++i) {
    const auto value = static_cast<std::uint32_t>(static_cast<std::int32_t>(made.matrix[i] * 65536));
    for (std::size_t b = 0; b < 4; ++b) {
      bytes[matrix + 4 * (i + i / 2) + b] = static_cast<char>(value >> (24 - 8 * b));
    }
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace evener::test
