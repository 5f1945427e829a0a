// Frames by ffmpeg, which decodes them and writes their RGB pixels to its stdout; their times and sizes come through
// its stderr.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/video/ffmpeg.h"
#include "data/video/video.h"

namespace evener::data {
namespace {

constexpr double kSilentFile_s = 120;   // of ffmpeg, after which it is given up
constexpr double kSilentCamera_s = 10;  // a camera that gives nothing for so long is broken
constexpr double kMicrosecond_s = 1e-6;

/// True for frames with these timestamps, in FFmpeg's language of expressions: a tree, so that few are compared.
std::string is_among(std::span<const std::int64_t> stamps) {
  if (stamps.size() == 1) return fmt::format("eq(pts,{})", stamps.front());
  const std::size_t half = stamps.size() / 2;
  return fmt::format("if(lt(pts,{}),{},{})", stamps[half], is_among(stamps.first(half)),
                     is_among(stamps.subspan(half)));
}

/// FFmpeg's filters: frames that are wanted, in RGB by their own matrix and range, whose times and sizes go to stderr.
/// Then they get times that rise, which its output has to have.
std::string filters(const std::vector<std::int64_t>& wanted, bool in_microseconds) {
  std::string chain;
  if (!wanted.empty()) chain = fmt::format("select='{}+gt(pts,{})',", is_among(wanted), wanted.back());
  if (in_microseconds) chain += "settb=1/1000000,";
  return chain + "scale=flags=bicubic,format=rgb24,showinfo=checksum=0,setpts=N/TB";
}

constexpr const char* kBegin = "ffmpeg -nostdin -hide_banner -nostats -v level+info ";

/// Frames keep their sizes; several threads would hold the last one back. `stream`: "V:0" is the first that's no cover.
std::string output_options(const std::string& chain, const std::string& stream = "V:0") {
  return "-map 0:" + stream + " -vf " + chain + " -vsync passthrough -noautoscale -threads 1 -f rawvideo pipe:1";
}

/// What the filter showinfo tells of a frame.
struct Shown {
  std::optional<std::int64_t> stamp;
  std::int64_t width = 0, height = 0;
};

/// "[Parsed_showinfo_2 @ 0x55] [info] n:   1 pts: 136800 pts_time:1.52 ... s:64x48 i:P ..."; nothing for other lines.
std::optional<Shown> parse_shown(const std::string& line) {
  const auto after = [&](std::string_view key) {
    auto at = line.find(key);
    if (at == std::string::npos) return line.data() + line.size();
    at = line.find_first_not_of(' ', at + key.size());
    return line.data() + std::min(at, line.size());
  };
  const char* const end = line.data() + line.size();
  if (!line.starts_with("[Parsed_showinfo_") || line.find("] n:") == std::string::npos) return std::nullopt;
  Shown shown;
  std::int64_t stamp = 0;
  if (std::from_chars(after(" pts:"), end, stamp).ec == std::errc()) shown.stamp = stamp;  // else "NOPTS"
  const auto width = std::from_chars(after(" s:"), end, shown.width);
  if (width.ptr == end || std::from_chars(width.ptr + 1, end, shown.height).ec != std::errc()) return std::nullopt;
  return shown;
}

class ProgramReader : public VideoReader {
 public:
  /// `is_live`: its times are in microseconds, and its places need seconds.
  ProgramReader(const std::vector<std::string>& words, const PipedChildOptions& options, bool is_live)
      : program_(words, options), is_live_(is_live) {}

  std::unique_ptr<VideoFrame> next() override {
    std::optional<Shown> shown;
    for (std::string line; !shown;) {
      if (!program_.read_line(PipedChild::Output::kStderr, line)) return end();
      shown = parse_shown(line);
      std::string error = error_of(line, /*of_program=*/true);
      if (!error.empty() && !error.starts_with("file:")) error_ = std::move(error);
    }
    check_picture_size(shown->width, shown->height);
    Picture picture = Picture::unset(3, shown->height, shown->width);
    const std::span<char> room(reinterpret_cast<char*>(picture.row(0)), picture.bytes());
    if (program_.read(PipedChild::Output::kStdout, room) != room.size()) return end();
    const std::int64_t number = count_++;
    FramePlace place{number, static_cast<double>(number) / kAssumedRate, false};
    if (shown->stamp)
      place = {*shown->stamp, is_live_ ? static_cast<double>(*shown->stamp) * kMicrosecond_s : 0, false};
    return std::make_unique<VideoFrame>(VideoFrame{place, std::move(picture)});
  }

  void stop() override { program_.stop(); }

  /// The program's last error; "" for none.
  const std::string& error() const { return error_; }

 private:
  /// Of a program that was ended by a signal, as one that took too much memory, more may follow than was given. One
  /// that gives nothing of a file may refuse its options.
  std::unique_ptr<VideoFrame> end() {
    const ChildEnd end = program_.finish();
    const bool is_refused = !is_live_ && count_ == 0 && !end.good();
    if (end.signal == 0 && !is_refused) return nullptr;
    throw Error("ffmpeg ended with " + end_text(end) + (error_.empty() ? "" : " (" + error_ + ")"));
  }

  PipedChild program_;
  const bool is_live_;
  std::string error_;
  std::int64_t count_ = 0;  // frames so far
};

/// A reader whose first frame has come.
class LiveReader : public VideoReader {
 public:
  LiveReader(std::unique_ptr<ProgramReader> source, std::unique_ptr<VideoFrame> first, bool is_camera)
      : source_(std::move(source)), first_(std::move(first)), begin_s_(first_->place.time_s), is_camera_(is_camera) {}

  std::unique_ptr<VideoFrame> next() override {
    std::unique_ptr<VideoFrame> frame = first_ ? std::move(first_) : source_->next();
    if (!frame && is_camera_) throw Error("it is gone: was it unplugged?");
    if (frame && is_camera_) frame->place.time_s -= begin_s_;
    return frame;
  }
  void stop() override { source_->stop(); }

 private:
  const std::unique_ptr<ProgramReader> source_;
  std::unique_ptr<VideoFrame> first_;
  const double begin_s_;
  const bool is_camera_;
};

std::unique_ptr<VideoReader> open_camera(const std::filesystem::path& path) {
  std::string why;
  // JPEG files where the camera makes them: more of them pass through a cable.
  for (const char* const kind : {"-input_format mjpeg", ""}) {
    auto source = std::make_unique<ProgramReader>(
        command_words(std::string(kBegin) + "-f v4l2 -video_size 1280x720 " + kind, {"-i", path.string()},
                      output_options(filters({}, /*in_microseconds=*/true))),
        PipedChildOptions{.reads_errors = true, .silence_s = kSilentCamera_s}, /*is_live=*/true);
    try {
      if (auto first = source->next()) {
        return std::make_unique<LiveReader>(std::move(source), std::move(first), /*is_camera=*/true);
      }
      why = source->error();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      throw Error("it gives no frames; is another program using it?");
    }
    if (why.find("busy") != std::string::npos) throw Error("another program is using it");
  }
  throw Error("it gives no frames" + (why.empty() ? "" : ": " + why));
}

std::unique_ptr<VideoReader> open_pipe(const std::filesystem::path& path) {
  // Its first frames are waited for as short as can be. Threads of frames hold several back.
  constexpr std::int64_t kMostLikely = std::int64_t{1} << 23;  // pixels
  auto source = std::make_unique<ProgramReader>(
      command_words(std::string(kBegin) + "-analyzeduration 200000 -fpsprobesize 0 -threads 2 -thread_type slice",
                    source_words(path), output_options(filters({}, /*in_microseconds=*/true))),
      PipedChildOptions{.reads_errors = true, .memory_bytes = decoding_memory(kMostLikely)}, /*is_live=*/true);
  if (auto first = source->next()) {
    return std::make_unique<LiveReader>(std::move(source), std::move(first), /*is_camera=*/false);
  }
  const std::string why = source->error();
  throw Error("it is no video, or of a kind that isn't known, or cut short" + (why.empty() ? "" : " (" + why + ")"));
}

}  // namespace

std::unique_ptr<VideoReader> open_video(const std::filesystem::path& path, int threads, const ReadFrom& from) {
  require_ffmpeg();
  std::string options = fmt::format("{}-copyts -noautorotate -threads {}", kBegin, std::max(1, threads));
  if (from.time_s > 0) {
    const double after_s = std::ceil(from.time_s / kMicrosecond_s) * kMicrosecond_s;
    options += fmt::format(" -noaccurate_seek -ss {:.6f}", after_s);
  }
  return std::make_unique<ProgramReader>(
      command_words(options, source_words(path),
                    output_options(filters(from.wanted, /*in_microseconds=*/false), std::to_string(from.stream))),
      PipedChildOptions{.reads_errors = true, .memory_bytes = decoding_memory(from.pixels), .silence_s = kSilentFile_s},
      /*is_live=*/false);
}

std::unique_ptr<VideoReader> open_live_video(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    require_ffmpeg();
    return open_pipe(path);
  }
  constexpr unsigned kVideoDevices = 81;  // the kernel's number for them
  if (!S_ISCHR(status.st_mode) || major(status.st_rdev) != kVideoDevices) {
    throw Error("it is no camera; the cameras of this machine are among /dev/video*");
  }
  require_ffmpeg();
  return open_camera(path);
}

}  // namespace evener::data
