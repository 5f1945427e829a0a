// A video's frames by ffprobe: what it tells of the streams, then the times of all packets.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/video/ffmpeg.h"
#include "data/video/video.h"

namespace evener::data {
namespace {

using nlohmann::json;

constexpr double kSilentProbe_s = 60;                          // of ffprobe, after which it is given up
constexpr std::int64_t kProbedPixels = std::int64_t{1} << 23;  // of pictures that it decodes to find out what they are

/// What ffprobe tells of a file and its first video.
struct StreamFacts {
  double tick_s = 0, start_s = 0, rate = 0;
  int orientation = 1;
  std::int64_t width = 0, height = 0;
};

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// "30000/1001"; 0 where it is none.
double ratio_of(const json& object, const char* key) {
  std::istringstream text(text_of(object, key));
  double above = 0, below = 0;
  char slash = 0;
  return text >> above >> slash >> below && above > 0 && below > 0 ? above / below : 0;
}

/// The EXIF orientation of a display matrix such as "\n00000000: 0 65536 0\n00000001: ...". It maps a point (x, y) of
/// the frame to (a x + c y, b x + d y); y grows downwards.
int orientation_of(const std::string& matrix) {
  constexpr double kOne = 65536;
  std::istringstream lines(matrix);
  std::array<int, 4> turn{};  // a, b, c, d
  std::string line;
  std::getline(lines, line);
  for (std::size_t row = 0; row < 2; ++row) {
    std::string number;
    double x = 0, y = 0;
    if (!std::getline(lines, line) || !(std::istringstream(line) >> number >> x >> y)) return 1;
    turn[2 * row] = static_cast<int>(std::lround(x / kOne));
    turn[2 * row + 1] = static_cast<int>(std::lround(y / kOne));
  }
  constexpr std::array<std::array<int, 4>, 8> kTurns = {{{1, 0, 0, 1},
                                                         {-1, 0, 0, 1},
                                                         {-1, 0, 0, -1},
                                                         {1, 0, 0, -1},
                                                         {0, 1, 1, 0},
                                                         {0, 1, -1, 0},
                                                         {0, -1, -1, 0},
                                                         {0, -1, 1, 0}}};
  const auto found = std::ranges::find(kTurns, turn);
  return found == kTurns.end() ? 1 : static_cast<int>(found - kTurns.begin()) + 1;
}

std::string output_of(PipedChild& program) {
  constexpr std::size_t kMost = 64 << 20;
  std::string output;
  std::array<char, 1 << 16> part{};
  while (const std::size_t count = program.read(PipedChild::Output::kStdout, part)) {
    output.append(part.data(), count);
    if (output.size() > kMost) throw Error("it tells of too many streams");
  }
  return output;
}

/// Throws Error for what can't be a video file.
void require_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    throw Error("can't be read: " + file_error_text(errno, path));
  }
  if (!S_ISREG(status.st_mode)) throw Error("not a regular file");
  if (status.st_size == 0) throw Error("it is empty");
}

json ask_ffprobe(const std::filesystem::path& path) {
  const std::vector<std::string> words =
      command_words("ffprobe -v level+error -show_streams -show_format -show_packets -of json -read_intervals %+#1",
                    source_words(path));
  PipedChild program(words, {.memory_bytes = decoding_memory(kProbedPixels), .silence_s = kSilentProbe_s});
  const std::string output = output_of(program);
  const ChildEnd end = program.finish();
  if (!end.good()) {
    const std::string why = end.signal != 0 ? "ffprobe ended with " + end_text(end) : last_error(program.messages());
    throw Error("it is no video, or of a kind that isn't known, or cut short" + (why.empty() ? "" : " (" + why + ")"));
  }
  const json told = json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!told.is_object()) throw Error("ffprobe gives what isn't understood");
  return told;
}

json list_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : json::array();
}

StreamFacts stream_facts_of(const std::filesystem::path& path) {
  const json told = ask_ffprobe(path);
  bool has_sound = false;
  std::optional<json> video;
  for (const json& stream : list_of(told, "streams")) {
    const std::string kind = text_of(stream, "codec_type");
    has_sound = has_sound || kind == "audio";
    const bool is_cover = number_of(stream.value("disposition", json::object()), "attached_pic") != 0;
    if (kind == "video" && !is_cover && !video) video = stream;
  }
  if (!video) throw Error(has_sound ? "it has sound, but no video" : "there is no video in it");
  for (const json& packet : list_of(told, "packets")) {
    for (const json& data : list_of(packet, "side_data_list")) {
      if (text_of(data, "side_data_type") == "Encryption info") throw Error("it is encrypted (DRM)");
    }
  }
  const std::string codec = text_of(*video, "codec_name");
  if (codec.empty() || codec == "unknown" || codec == "none") {
    throw Error("its codec '" + printable(text_of(*video, "codec_tag_string")) + "' isn't known to " +
                ffmpeg_state().version + ", or it is encrypted");
  }
  StreamFacts facts{.tick_s = ratio_of(*video, "time_base"), .rate = ratio_of(*video, "avg_frame_rate")};
  if (facts.rate == 0) facts.rate = ratio_of(*video, "r_frame_rate");
  std::istringstream(text_of(told.value("format", json::object()), "start_time")) >> facts.start_s;
  for (const json& data : list_of(*video, "side_data_list")) {
    if (const std::string matrix = text_of(data, "displaymatrix"); !matrix.empty()) {
      facts.orientation = orientation_of(matrix);
    }
  }
  facts.width = number_of(*video, "width");
  facts.height = number_of(*video, "height");
  if (facts.width <= 0 || facts.height <= 0) {
    throw Error("the size of its frames can't be found: is it cut short?");
  }
  check_picture_size(facts.width, facts.height);
  return facts;
}

/// A packet's times.
struct Stamp {
  static constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();
  std::int64_t shown = kMissing, decoded = kMissing;
  bool is_key = false;
};

/// "1536|-512|1726|K_": the times at which a packet is shown and decoded ("N/A" = missing), its bytes and flags, of
/// which D means that its frame isn't shown. Nothing where there is no frame.
std::optional<Stamp> parse_packet(const std::string& line) {
  std::istringstream fields(line);
  std::string shown, decoded, bytes, flags;
  for (std::string* const field : {&shown, &decoded, &bytes, &flags}) std::getline(fields, *field, '|');
  if (bytes.empty() || bytes == "0" || bytes == "N/A" || flags.find('D') != std::string::npos) return std::nullopt;
  Stamp stamp{.is_key = flags.starts_with('K')};
  std::from_chars(shown.data(), shown.data() + shown.size(), stamp.shown);
  std::from_chars(decoded.data(), decoded.data() + decoded.size(), stamp.decoded);
  return stamp;
}

/// The frames in the order in which they are shown. Where times are missing or not distinct, frames are known by their
/// number, and have the times at which they are decoded, which are as far from each other.
VideoIndex sorted_index(std::vector<Stamp> stamps, const StreamFacts& facts) {
  VideoIndex index{.frames = {}, .broken_off = {}, .orientation = facts.orientation};
  index.pixels = facts.width * facts.height;
  const auto is_missing = [](std::int64_t time) { return time == Stamp::kMissing; };
  const auto seconds = [&](std::int64_t time) { return static_cast<double>(time) * facts.tick_s - facts.start_s; };
  index.has_timestamps = facts.tick_s > 0 && std::ranges::none_of(stamps, is_missing, &Stamp::shown);
  const bool has_decoding_times = facts.tick_s > 0 && std::ranges::none_of(stamps, is_missing, &Stamp::decoded);
  std::ranges::stable_sort(stamps, {}, index.has_timestamps ? &Stamp::shown : &Stamp::decoded);
  if (index.has_timestamps && std::ranges::adjacent_find(stamps, {}, &Stamp::shown) != stamps.end()) {
    index.has_timestamps = false;
    // The i-th frame that is shown has the i-th decoding time then, so that times rise.
    if (has_decoding_times) std::ranges::stable_sort(stamps, {}, &Stamp::decoded);
  }
  const double rate = facts.rate > 0 ? facts.rate : kAssumedRate;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const Stamp& stamp = stamps[i];
    if (index.has_timestamps) {
      index.frames.push_back({stamp.shown, seconds(stamp.shown), stamp.is_key});
    } else {
      const double time_s =
          has_decoding_times ? seconds(stamp.decoded) - seconds(stamps.front().decoded) : static_cast<double>(i) / rate;
      index.frames.push_back({static_cast<std::int64_t>(i), time_s, i == 0});
    }
  }
  return index;
}

}  // namespace

VideoIndex index_video(const std::filesystem::path& path, const std::function<bool(const VideoIndex&)>& enough) {
  require_ffmpeg();
  require_file(path);
  const StreamFacts facts = stream_facts_of(path);
  const std::vector<std::string> words = command_words(
      "ffprobe -v level+error -select_streams V:0 -show_entries packet=pts,dts,size,flags -of compact=p=0:nk=1",
      source_words(path));
  PipedChild program(words, {.memory_bytes = decoding_memory(kProbedPixels), .silence_s = kSilentProbe_s});
  std::vector<Stamp> stamps;
  std::size_t asked_at = 256;
  for (std::string line; program.read_line(PipedChild::Output::kStdout, line);) {
    if (const std::optional<Stamp> stamp = parse_packet(line)) stamps.push_back(*stamp);
    if (stamps.size() < asked_at) continue;
    asked_at *= 2;
    // Those of the last frames may still come between.
    constexpr std::ptrdiff_t kMostReordered = 64;
    VideoIndex so_far = sorted_index(stamps, facts);
    so_far.frames.resize(so_far.frames.size() - kMostReordered);
    if (enough(so_far)) return so_far;
  }
  const ChildEnd end = program.finish();
  const std::string broken_off = end.good() ? "" : "ffprobe ended with " + end_text(end);
  if (stamps.empty()) throw Error("there is no frame in it" + (broken_off.empty() ? "" : ": " + broken_off));
  VideoIndex index = sorted_index(std::move(stamps), facts);
  index.broken_off = broken_off;
  return index;
}

}  // namespace evener::data
