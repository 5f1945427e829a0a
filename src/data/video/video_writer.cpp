// Videos by ffmpeg, which gets each frame as a PPM file with its time, in the simplest container that has times: IVF.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/video/ffmpeg.h"
#include "data/video/video.h"

namespace evener::data {
namespace {

/// Ticks a second: the usual rates are whole numbers of them, and MPEG-4 takes no more than 65535.
constexpr std::uint32_t kTicks = 60000;
constexpr double kSilentWriter_s = 600;  // of ffmpeg, after which it is given up

/// Whether FFmpeg has the encoder of H.264.
bool has_h264() {
  PipedChild program({"ffmpeg", "-nostdin", "-v", "level+error", "-encoders"}, {.silence_s = kSilentWriter_s});
  for (std::string line; program.read_line(PipedChild::Output::kStdout, line);) {
    if (line.find(" libx264 ") != std::string::npos) return true;
  }
  return false;
}

/// Of H.264 a quality that is hardly to be told from the original; of MPEG-4 a scale from 1 (best) to 31.
std::string encoder_options() {
  static const bool h264 = has_h264();
  return h264 ? "-c:v libx264 -crf 20 -preset fast" : "-c:v mpeg4 -q:v 3";
}

/// FFmpeg's name of the container that a path's ending names. Throws Error.
std::string container_of(const std::filesystem::path& path) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> kContainers = {
      {{".mp4", "mp4"}, {".m4v", "mp4"}, {".mov", "mov"}, {".mkv", "matroska"}, {".avi", "avi"}, {".ts", "mpegts"}}};
  for (const auto& [ending, container] : kContainers) {
    if (path.extension() == ending) return container;
  }
  throw Error("no video can be written into a file called '" + path.string() + "': give it an ending such as .mp4");
}

/// Adds numbers of `bytes` bytes each, the lowest byte first.
void append_numbers(std::string& text, std::size_t bytes, std::initializer_list<std::uint64_t> numbers) {
  for (const std::uint64_t number : numbers) {
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  }
}

std::string ivf_header(std::int64_t width, std::int64_t height) {
  std::string header = "DKIF";
  append_numbers(header, 2, {0, 32});  // the version, and the header's own length
  append_numbers(header, 4, {0});      // the codec, which ffmpeg is told
  append_numbers(header, 2, {static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height)});
  append_numbers(header, 4, {kTicks, 1, 0, 0});  // ticks a second; frames, which nobody knows
  return header;
}

/// Codecs that halve colours take even sizes.
std::int64_t even(std::int64_t extent) {
  return extent + extent % 2;
}

/// A PPM file of the next even size: a last row and column that are missing repeat the ones before.
std::string ppm_file(const Picture& picture) {
  const std::int64_t width = even(picture.width), height = even(picture.height);
  std::string file = fmt::format("P6\n{} {}\n255\n", width, height);
  std::size_t at = file.size();
  file.resize(at + static_cast<std::size_t>(3 * width * height));
  for (std::int64_t y = 0; y < height; ++y) {
    const std::uint8_t* const row = picture.row(std::min(y, picture.height - 1));
    for (std::int64_t x = 0; x < width; ++x) {
      const std::uint8_t* const pixel = row + std::min(x, picture.width - 1) * picture.channels;
      for (std::int64_t c = 0; c < 3; ++c) file[at++] = static_cast<char>(pixel[picture.channels == 3 ? c : 0]);
    }
  }
  return file;
}

}  // namespace

VideoWriter::VideoWriter(std::filesystem::path path, std::int64_t width, std::int64_t height)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp-" + std::to_string(::getpid())) {
  const std::string container = container_of(path_);
  require_ffmpeg();
  if (!Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)).valid()) {
    throw Error("can't write '" + path_.string() + "': " + file_error_text(errno, path_));
  }
  const std::string options = fmt::format(
      "ffmpeg -nostdin -v level+error -xerror -y -f ivf -c:v ppm -i pipe:0 -vsync passthrough -enc_time_base 1:{} "
      "-vf scale=flags=bicubic:out_color_matrix=smpte170m:out_range=tv,format=yuv420p -colorspace smpte170m "
      "-color_range tv {} -f {}",
      kTicks, encoder_options(), container);
  const std::vector<std::string> words = command_words(options, {"file:" + temporary_.string()});
  program_ = std::make_unique<PipedChild>(words, PipedChildOptions{.has_input = true, .silence_s = kSilentWriter_s});
  send(ivf_header(even(width), even(height)));
}

VideoWriter::~VideoWriter() {
  program_.reset();
  if (finished_) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void VideoWriter::send(const std::string& bytes) {
  try {
    program_->write(bytes);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    require_end();
    throw;
  }
}

void VideoWriter::require_end() {
  const ChildEnd end = program_->finish();
  if (end.good()) return;
  const std::string messages = program_->messages();
  const std::string why = messages.find(std::strerror(ENOSPC)) != std::string::npos ? file_error_text(ENOSPC, path_)
                          : end.signal != 0 ? "ffmpeg ended with " + end_text(end)
                                            : last_error(messages, /*of_program=*/true);
  throw Error("can't write '" + path_.string() + "': " + (why.empty() ? "ffmpeg failed" : why));
}

void VideoWriter::add(const Picture& frame, double time_s) {
  last_ = std::max<std::int64_t>(last_ + 1, std::llround(time_s * kTicks));
  const std::string file = ppm_file(frame);
  std::string header;
  append_numbers(header, 4, {file.size()});
  append_numbers(header, 8, {static_cast<std::uint64_t>(last_)});
  send(header);
  send(file);
}

void VideoWriter::finish() {
  require_end();
  const Descriptor file(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fsync(file.get()) != 0) {
    throw Error("can't write '" + path_.string() + "': " + file_error_text(errno, path_));
  }
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw Error("can't write '" + path_.string() + "': " + error.message());
  finished_ = true;
}

}  // namespace evener::data
