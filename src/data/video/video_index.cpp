// A video's frames by ffprobe: what it tells of the streams, then the times of all packets.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <sstream>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/video/ffmpeg.h"
#include "data/video/video.h"

namespace evener::data {
namespace {

using nlohmann::json;

constexpr double kSilentProbe_s = 60;                          // of ffprobe, after which it is given up
constexpr std::int64_t kProbedPixels = std::int64_t{1} << 23;  // of pictures that it decodes to find out what they are

/// What ffprobe tells of a file and its video.
struct StreamFacts {
  double tick_s = 0, start_s = 0, rate = 0;
  std::size_t promised_frames = 0;  // by the container; 0 = it doesn't tell
  double promised_end_s = 0;        // likewise
  int stream = 0, orientation = 1;
  std::int64_t width = 0, height = 0;
  std::vector<std::string> notes;
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

/// Takes the EXIF orientation of a display matrix such as "\n00000000: 0 65536 0\n00000001: ...". It maps a point (x,
/// y) of the frame to (a x + c y, b x + d y); y grows downwards.
void take_matrix(const std::string& matrix, StreamFacts& facts) {
  std::istringstream lines(matrix);
  std::array<double, 4> stored{};  // a, b, c, d
  std::string line;
  std::getline(lines, line);
  for (std::size_t row = 0; row < 2; ++row) {
    std::string number;
    std::getline(lines, line);
    std::istringstream(line) >> number >> stored[2 * row] >> stored[2 * row + 1];
  }
  if (std::ranges::all_of(stored, [](double value) { return value == 0; })) return;
  // Sizes don't matter, and what rounding has left is nothing.
  const double least = 0.01 * std::abs(*std::ranges::max_element(stored, {}, [](double v) { return std::abs(v); }));
  std::array<int, 4> turn{};
  for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = stored[i] > least ? 1 : stored[i] < -least ? -1 : 0;
  constexpr std::array<std::array<int, 4>, 8> kTurns = {{{1, 0, 0, 1},
                                                         {-1, 0, 0, 1},
                                                         {-1, 0, 0, -1},
                                                         {1, 0, 0, -1},
                                                         {0, 1, 1, 0},
                                                         {0, 1, -1, 0},
                                                         {0, -1, -1, 0},
                                                         {0, -1, 1, 0}}};
  const auto found = std::ranges::find(kTurns, turn);
  if (found != kTurns.end()) {
    facts.orientation = static_cast<int>(found - kTurns.begin()) + 1;
  } else {
    facts.notes.push_back(fmt::format(
        "is to be shown turned by {:.0f} degrees: turns are made by quarters alone, and its frames are as stored",
        std::atan2(stored[1], stored[0]) * 180 / std::numbers::pi));
  }
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

/// Whether a second film stands behind the first in a file of MP4's kind, which no program looks at.
bool has_another_film(const std::filesystem::path& path) {
  const Descriptor file = open_for_reading(path);
  const std::uint64_t bytes = size_of(file, path);
  std::array<char, 16> head{};
  int films = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    const std::size_t got = read_at(file, path, at, head.data(), head.size());
    const auto number = [&](std::size_t begin, std::size_t count) {
      std::uint64_t value = 0;
      for (std::size_t i = begin; i < begin + count; ++i) value = value << 8 | static_cast<unsigned char>(head[i]);
      return value;
    };
    const std::uint64_t length = number(0, 4) == 1 ? number(8, 8) : number(0, 4);
    if (std::string_view(head.data() + 4, 4) == "moov") ++films;
    if (got < 8 || length < 8 || length > bytes - at) break;
    at += length;
  }
  return films > 1;
}

json ask_ffprobe(const std::filesystem::path& path) {
  const std::vector<std::string> words =
      command_words("ffprobe -v level+error -show_streams -show_format -show_packets -of json -read_intervals %+#1",
                    source_words(path));
  PipedChild program(words, {.memory_bytes = decoding_memory(kProbedPixels), .silence_s = kSilentProbe_s});
  const std::string output = output_of(program);
  const ChildEnd end = program.finish();
  if (!end.good()) {
    std::string why = end.signal != 0 ? "ffprobe ended with " + end_text(end) : last_error(program.messages());
    if (why.empty()) why = last_error(program.messages(), /*of_program=*/true);
    if (why.starts_with("file:")) why.clear();  // it only says that the data is no video's
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

/// The video that players show: as ffmpeg chooses, the largest one, a default one before others. Never a cover.
/// Null where there is none.
const json* choose_video(const json& streams, std::vector<std::string>& notes) {
  constexpr std::int64_t kDefault = 5'000'000;  // pixels that this is worth
  const json* chosen = nullptr;
  std::int64_t best = -1;
  std::size_t videos = 0;
  for (const json& stream : streams) {
    const json disposition = stream.value("disposition", json::object());
    if (text_of(stream, "codec_type") != "video" || number_of(disposition, "attached_pic") != 0) continue;
    ++videos;
    const std::int64_t pixels = number_of(stream, "width") * number_of(stream, "height");
    const std::int64_t worth = pixels + (number_of(disposition, "default") != 0 ? kDefault : 0);
    if (worth <= best) continue;
    best = worth;
    chosen = &stream;
  }
  if (videos > 1) {
    notes.push_back(fmt::format(
        "has {} videos: stream {}, of {}x{} pixels, is looked at, as players do (the default one, else the largest)",
        videos, number_of(*chosen, "index"), number_of(*chosen, "width"), number_of(*chosen, "height")));
  }
  return chosen;
}

/// Seconds of a stream's duration where its frames are counted, or of Matroska's "00:00:04.120000000"; 0 of others,
/// whose durations are estimates. Only MP4's kind may hide frames that it counts, those behind a cut.
double promised_end_s(const json& stream, bool is_counted, bool may_hide) {
  double hours = 0, minutes = 0, seconds = 0;
  char colon = 0;
  if (is_counted && !may_hide) return std::numeric_limits<double>::infinity();
  if (is_counted) return std::istringstream(text_of(stream, "duration")) >> seconds ? seconds : 0;
  const json tags = stream.value("tags", json::object());
  std::istringstream text(text_of(tags, "DURATION"));
  return text >> hours >> colon >> minutes >> colon >> seconds ? 3600 * hours + 60 * minutes + seconds : 0;
}

StreamFacts stream_facts_of(const std::filesystem::path& path) {
  const json told = ask_ffprobe(path);
  StreamFacts facts;
  const json streams = list_of(told, "streams");
  const json* const video = choose_video(streams, facts.notes);
  if (video == nullptr) {
    const bool has_sound =
        std::ranges::any_of(streams, [](const json& s) { return text_of(s, "codec_type") == "audio"; });
    throw Error(has_sound ? "it has sound, but no video" : "there is no video in it");
  }
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
  facts.stream = static_cast<int>(number_of(*video, "index"));
  facts.tick_s = ratio_of(*video, "time_base");
  facts.rate = ratio_of(*video, "avg_frame_rate");
  if (facts.rate == 0) facts.rate = ratio_of(*video, "r_frame_rate");
  facts.promised_frames = to_number<std::size_t>(text_of(*video, "nb_frames")).value_or(0);
  const json format = told.value("format", json::object());
  facts.promised_end_s =
      promised_end_s(*video, facts.promised_frames > 0, text_of(format, "format_name").starts_with("mov"));
  std::istringstream(text_of(format, "start_time")) >> facts.start_s;
  for (const json& data : list_of(*video, "side_data_list")) {
    if (const std::string matrix = text_of(data, "displaymatrix"); !matrix.empty()) take_matrix(matrix, facts);
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

/// "1536|-512|512|1726|K_": the times at which a packet is shown and decoded ("N/A" = missing), how long it is shown,
/// its bytes and flags, of which D means that its frame isn't shown.
struct Packet {
  Stamp stamp;
  std::int64_t duration = 0;
  bool is_shown = false;
};
Packet parse_packet(const std::string& line) {
  std::istringstream fields(line);
  std::string shown, decoded, duration, bytes, flags;
  for (std::string* const field : {&shown, &decoded, &duration, &bytes, &flags}) std::getline(fields, *field, '|');
  Packet packet{.stamp = {.is_key = flags.starts_with('K')}};
  packet.is_shown = !bytes.empty() && bytes != "0" && bytes != "N/A" && flags.find('D') == std::string::npos;
  std::from_chars(shown.data(), shown.data() + shown.size(), packet.stamp.shown);
  std::from_chars(decoded.data(), decoded.data() + decoded.size(), packet.stamp.decoded);
  std::from_chars(duration.data(), duration.data() + duration.size(), packet.duration);
  return packet;
}

/// Where times of decoding go back, as in files that were joined from several: at a key frame, or by more than two
/// frames. What is less are slips of a muxer.
std::vector<std::size_t> begins_of_parts(const std::vector<Stamp>& stamps, double tick_s, double frame_s) {
  std::vector<std::size_t> begins = {0};
  std::int64_t last = Stamp::kMissing;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const Stamp& stamp = stamps[i];
    if (stamp.decoded == Stamp::kMissing) continue;
    const double back_s = last == Stamp::kMissing ? 0 : static_cast<double>(last - stamp.decoded) * tick_s;
    if (back_s > 0 && (stamp.is_key || back_s > 2 * frame_s)) begins.push_back(i);
    last = stamp.decoded;
  }
  return begins;
}

/// The frames in the order in which they are shown, part by part: the times of each part follow on those of the one
/// before. Where times are missing or not distinct, frames have the times at which they are decoded, which are as far
/// from each other.
VideoIndex sorted_index(std::vector<Stamp> stamps, const StreamFacts& facts) {
  VideoIndex index{.frames = {}, .broken_off = {}, .notes = facts.notes};
  index.stream = facts.stream;
  index.orientation = facts.orientation;
  index.pixels = facts.width * facts.height;
  const auto is_missing = [](std::int64_t time) { return time == Stamp::kMissing; };
  index.has_timestamps = facts.tick_s > 0 && std::ranges::none_of(stamps, is_missing, &Stamp::shown);
  const bool has_decoding_times = facts.tick_s > 0 && std::ranges::none_of(stamps, is_missing, &Stamp::decoded);
  const auto order = index.has_timestamps ? &Stamp::shown : &Stamp::decoded;
  const double frame_s = 1 / (facts.rate > 0 ? facts.rate : kAssumedRate);
  std::vector<std::size_t> ends = begins_of_parts(stamps, facts.tick_s, frame_s);
  const std::size_t parts = ends.size();
  index.can_be_sought = index.has_timestamps && parts == 1;
  ends.push_back(stamps.size());
  double begin_s = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::span<Stamp> of_part = std::span(stamps).subspan(ends[part], ends[part + 1] - ends[part]);
    std::vector<std::int64_t> times;
    std::ranges::transform(of_part, std::back_inserter(times), &Stamp::decoded);
    std::ranges::stable_sort(times);  // the i-th frame that is shown has the i-th decoding time, so that times rise
    std::ranges::stable_sort(of_part, {}, order);
    const bool is_distinct = index.has_timestamps && std::ranges::adjacent_find(of_part, {}, order) == of_part.end();
    if (is_distinct) std::ranges::transform(of_part, times.begin(), order);
    if (!is_distinct) index.can_be_sought = false;
    const bool is_first = part == 0 && is_distinct;
    for (std::size_t i = 0; i < of_part.size(); ++i) {
      const bool is_timed = is_distinct || has_decoding_times;
      const double time_s = is_first   ? static_cast<double>(times[i]) * facts.tick_s - facts.start_s
                            : is_timed ? begin_s + static_cast<double>(times[i] - times[0]) * facts.tick_s
                                       : begin_s + static_cast<double>(i) * frame_s;
      const auto number = static_cast<std::int64_t>(index.frames.size());
      index.frames.push_back({index.has_timestamps ? of_part[i].shown : number, time_s, of_part[i].is_key});
    }
    if (!of_part.empty()) begin_s = index.frames.back().time_s + frame_s;
  }
  if (parts > 1) {
    index.notes.push_back(
        fmt::format("is joined from {} parts whose times begin anew: each follows on the one before", parts));
  }
  return index;
}

/// How a video ends before its container says; "" where it doesn't.
std::string early_end(std::size_t came, double end_s, const VideoIndex& index, const StreamFacts& facts,
                      const std::string& messages) {
  double longest_s = 0;  // that a frame is shown; of the last one that may not be told
  for (std::size_t i = 1; i < index.frames.size(); ++i) {
    longest_s = std::max(longest_s, index.frames[i].time_s - index.frames[i - 1].time_s);
  }
  const std::string error = last_error(messages);
  const bool is_cut = error.find("partial file") != std::string::npos || error.find("prematurely") != std::string::npos;
  const bool is_short = end_s + longest_s < facts.promised_end_s;
  if (!(is_cut || is_short) || (facts.promised_frames > 0 && came >= facts.promised_frames)) return "";
  std::string text = counted(came, "frame");
  if (facts.promised_frames > 0) {
    text = fmt::format("{} of the {} frames that its container promises", came, facts.promised_frames);
  } else if (is_short) {
    text += fmt::format(" in {:.2f} of the {:.2f} s that its container promises", end_s, facts.promised_end_s);
  }
  return text + " came" + (is_cut ? " (" + error + ")" : "");
}

}  // namespace

VideoIndex index_video(const std::filesystem::path& path, const std::function<bool(const VideoIndex&)>& enough) {
  require_ffmpeg();
  require_file(path);
  const StreamFacts facts = stream_facts_of(path);
  const std::vector<std::string> words = command_words(
      fmt::format("ffprobe -v level+error -select_streams {} -show_entries packet=pts,dts,duration,size,flags "
                  "-of compact=p=0:nk=1",
                  facts.stream),
      source_words(path));
  PipedChild program(words, {.memory_bytes = decoding_memory(kProbedPixels), .silence_s = kSilentProbe_s});
  std::vector<Stamp> stamps;
  std::size_t came = 0;
  std::int64_t end = 0;
  std::size_t asked_at = 256;
  for (std::string line; program.read_line(PipedChild::Output::kStdout, line);) {
    if (line.empty()) continue;  // before a packet's side data
    const Packet packet = parse_packet(line);
    ++came;
    if (packet.stamp.shown != Stamp::kMissing || packet.stamp.decoded != Stamp::kMissing) {
      end = std::max(end, std::max(packet.stamp.shown, packet.stamp.decoded) + packet.duration);
    }
    if (packet.is_shown) stamps.push_back(packet.stamp);
    if (stamps.size() < asked_at) continue;
    asked_at *= 2;
    // Those of the last frames may still come between.
    constexpr std::ptrdiff_t kMostReordered = 64;
    VideoIndex so_far = sorted_index(stamps, facts);
    so_far.frames.resize(so_far.frames.size() - kMostReordered);
    if (enough(so_far)) return so_far;
  }
  const ChildEnd program_end = program.finish();
  const std::string failure = program_end.good() ? "" : "ffprobe ended with " + end_text(program_end);
  if (stamps.empty()) throw Error("there is no frame in it" + (failure.empty() ? "" : ": " + failure));
  VideoIndex index = sorted_index(std::move(stamps), facts);
  const double end_s = static_cast<double>(end) * facts.tick_s;
  index.broken_off = program_end.good() ? early_end(came, end_s, index, facts, program.messages())
                                        : counted(index.frames.size(), "frame") + " came, then " + failure;
  if (index.broken_off.empty() && has_another_film(path)) {
    index.broken_off = counted(index.frames.size(), "frame") +
                       " came, and behind them stands another film, as `cat` joins files: ffmpeg's concat joins films";
  }
  return index;
}

}  // namespace evener::data
