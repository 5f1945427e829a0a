#include "data/video/video_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/cpu.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "data/codecs/exif.h"

namespace evener::data {

namespace {

/// How many frames can still be read after they were waited for: more than are ever on their way to a network.
constexpr std::size_t kKept = 64;
/// How many names are kept, unless all are asked for: a camera may run for weeks.
constexpr std::size_t kNamed = 65536;

constexpr int kMostThreads = 8;                      // of a decoder; more gain little
constexpr std::size_t kMostWaiting = 32;             // decoded frames that nobody has asked for
constexpr std::size_t kMostTold = 1000;              // frames of which a decoder is told that they are wanted
constexpr std::size_t kMostLost = 1000;              // frames that can't be decoded, one after the other
constexpr std::int64_t kWorthSeeking = 120'000'000;  // pixels that needn't be decoded: a decoder's start takes as long

std::uint64_t sampled_hash(const std::filesystem::path& path) {
  constexpr std::uint64_t kParts = 64, kPartBytes = 4096;
  const Descriptor file = open_for_reading(path);
  const std::uint64_t bytes = size_of(file, path);
  std::string sample = std::to_string(bytes);
  std::string part(kPartBytes, '\0');
  for (std::uint64_t i = 0; i < kParts; ++i) {
    const std::uint64_t room = bytes > kPartBytes ? bytes - kPartBytes : 0;
    const std::size_t got = read_at(file, path, room / (kParts - 1) * i, part.data(), part.size());
    sample.append(part, 0, got);
  }
  return hash_text(sample);
}

}  // namespace

LiveFrames::LiveFrames(std::string name, std::unique_ptr<VideoReader> source, const FrameChoice& choice)
    : name_(std::move(name)), source_(std::move(source)), choice_(choice) {}

LiveFrames::~LiveFrames() {
  source_->stop();
  if (thread_.joinable()) thread_.join();
}

void LiveFrames::capture() {
  FrameChooser chooser(choice_);
  std::string failure;
  try {
    while (std::shared_ptr<VideoFrame> frame = source_->next()) {
      if (!chooser.takes(frame->place.time_s)) continue;
      const std::scoped_lock lock(mutex_);
      if (is_over_) break;
      if (newest_) ++dropped_;
      newest_ = std::move(frame);
      came_.notify_all();
    }
  } catch (const Interrupted&) {  // the end that was wanted
  } catch (const std::exception& error) {
    failure = name_ + ": " + error.what();
  }
  const std::scoped_lock lock(mutex_);
  if (!is_over_) failure_ = std::move(failure);
  ended_ = true;
  came_.notify_all();
}

bool LiveFrames::wait_for(std::size_t number) {
  using std::chrono_literals::operator""ms;
  if (number >= choice_.most) return false;
  if (!thread_.joinable()) thread_ = std::thread(as_this_work([this] { capture(); }));
  std::unique_lock lock(mutex_);
  while (!newest_ && !ended_) {
    came_.wait_for(lock, 50ms);
    if (stop_requested()) {
      is_over_ = true;
      return false;
    }
  }
  if (!newest_) return false;
  const double time_s = newest_->place.time_s;
  given_[number] = {frame_name(name_, time_s), time_s};
  if (given_.size() > kNamed && !choice_.keeps_all_names) given_.erase(given_.begin());
  kept_[number] = std::move(newest_);
  newest_ = nullptr;
  if (kept_.size() > kKept) kept_.erase(kept_.begin());
  is_over_ = number + 1 >= choice_.most;
  return true;
}

Picture LiveFrames::read(std::size_t number) const {
  std::shared_ptr<VideoFrame> frame;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(number);
    if (found == kept_.end()) throw Error("the frame is gone: those of a camera or a pipe can't be read again later");
    frame = found->second;
  }
  const PhaseMark mark(Phase::kDecode);
  const Picture& picture = frame->picture;
  Picture copy = Picture::unset(picture.channels, picture.height, picture.width);
  std::copy_n(picture.row(0), picture.bytes(), copy.row(0));
  return copy;
}

const std::string& LiveFrames::name(std::size_t number) const {
  const std::scoped_lock lock(mutex_);
  return given_.at(number).name;
}

double LiveFrames::time_s(std::size_t number) const {
  const std::scoped_lock lock(mutex_);
  return given_.at(number).time_s;
}

std::size_t LiveFrames::dropped() const {
  const std::scoped_lock lock(mutex_);
  return dropped_;
}

std::string LiveFrames::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

bool FrameChoice::is_default() const {
  return !is_told && every == 1 && every_s == 0 && most == std::numeric_limits<std::size_t>::max();
}

FrameChoice parse_every(const std::string& text) {
  const auto refuse = [&]() {
    return UsageError("--every '" + text + "': give a number of frames, such as 10, or a time, such as 1s or 200ms");
  };
  FrameChoice choice;
  if (text.empty()) return choice;
  choice.is_told = true;
  std::size_t digits = 0;
  double value = 0;
  try {
    value = std::stod(text, &digits);
  } catch (const std::exception&) {
    throw refuse();
  }
  const std::string unit = text.substr(digits);
  constexpr double kMost = 1e9;
  if (!(value > 0) || value > kMost || (unit != "" && unit != "s" && unit != "ms")) throw refuse();
  if (unit.empty()) {
    if (value != std::floor(value)) throw refuse();
    choice.every = static_cast<std::size_t>(value);
  } else {
    choice.every_s = unit == "s" ? value : value / 1000;
  }
  return choice;
}

bool FrameChooser::takes(double time_s) {
  if (seen_ == 0) begin_s_ = time_s;
  const std::size_t number = seen_++;
  if (choice_.every_s == 0) return number % choice_.every == 0;
  // Times are rounded to the stream's ticks: a frame a little before a span's begin is the one that was meant.
  constexpr double kRounding_s = 1e-3;
  const auto span = static_cast<std::int64_t>(std::floor((time_s - begin_s_ + kRounding_s) / choice_.every_s));
  if (span < next_span_) return false;
  next_span_ = span + 1;
  return true;
}

std::vector<std::size_t> chosen_frames(const std::vector<FramePlace>& frames, const FrameChoice& choice,
                                       std::size_t most) {
  FrameChooser chooser(choice);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < frames.size() && chosen.size() < most; ++i) {
    if (chooser.takes(frames[i].time_s)) chosen.push_back(i);
  }
  return chosen;
}

std::string frame_name(const std::string& video, double time_s) {
  return fmt::format("{}@{:.3f}s", video, time_s);
}

/// A decoder at some place of the video.
class VideoFrames::Cursor {
 public:
  Cursor(const VideoFrames& video, int threads) : video_(video), threads_(threads) {}

  /// Null where the frame is behind this decoder and was given already. Throws Error where it can't be decoded.
  std::unique_ptr<VideoFrame> take(std::size_t number) {
    const std::scoped_lock lock(mutex_);
    return find(number);
  }

  /// Goes back where that is needed.
  std::unique_ptr<VideoFrame> take_again(std::size_t number) {
    const std::scoped_lock lock(mutex_);
    if (auto frame = find(number)) return frame;
    waiting_.clear();
    lost_.clear();
    next_ = number;
    if (!seek_for(number)) open(0);
    return find(number);
  }

 private:
  std::unique_ptr<VideoFrame> find(std::size_t number) {
    while (next_ <= number) advance();
    if (const auto found = waiting_.find(number); found != waiting_.end()) {
      std::unique_ptr<VideoFrame> frame = std::move(found->second);
      waiting_.erase(found);
      return frame;
    }
    if (const auto found = lost_.find(number); found != lost_.end()) throw Error(found->second);
    return nullptr;
  }

  /// Begins at a key frame, or at the start where `key` is 0.
  void open(std::size_t key) {
    ReadFrom from{.stream = index_.stream,
                  .time_s = key > 0 ? index_.frames[key].time_s : 0,
                  .wanted = {},
                  .pixels = index_.pixels};
    told_end_ = std::min(video_.size(), next_ + kMostTold);
    const std::size_t passed = video_.chosen_[told_end_ - 1] - video_.chosen_[next_] + 1;
    if (index_.can_be_sought && passed > 2 * (told_end_ - next_)) {
      for (std::size_t i = next_; i < told_end_; ++i) {
        from.wanted.push_back(index_.frames[video_.chosen_[i]].timestamp);
      }
    } else {
      told_end_ = video_.size();
    }
    reader_.reset();  // two programs at once would need twice the memory
    reader_ = open_video(video_.path_, threads_, from);
    place_ = key;
    sought_ = key > 0;
  }

  /// Goes to the last key frame before a chosen frame; false where that isn't possible.
  bool seek_for(std::size_t number) {
    if (!index_.can_be_sought || !may_seek_) return false;
    std::size_t key = video_.chosen_[number];
    while (key > 0 && !index_.frames[key].is_key) --key;
    if (key == 0 || index_.frames[key].time_s <= 0) return false;
    open(key);
    return true;
  }

  bool is_worth_seeking() const {
    if (!index_.can_be_sought || !may_seek_) return false;
    if (next_ == told_end_) return true;  // it would give all that follow
    const auto skipped = static_cast<std::size_t>(kWorthSeeking / std::max<std::int64_t>(index_.pixels, 1)) + 1;
    const std::size_t target = video_.chosen_[next_];
    for (std::size_t i = place_ + skipped; i <= target; ++i) {
      if (index_.frames[i].is_key) return true;
    }
    return false;
  }

  /// Decodes until the next chosen frame is there, or is known to be lost.
  void advance() {
    if (!reader_) open(0);
    if (is_worth_seeking() && !seek_for(next_)) told_end_ = video_.size();
    std::unique_ptr<VideoFrame> frame;
    try {
      frame = reader_->next();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      lose_rest(error.what());
      return;
    }
    if (!frame) {
      lose_rest("the video can't be decoded up to there: it is cut short or damaged");
      return;
    }
    const auto [number, is_known] = number_of(frame->place.timestamp);
    if (sought_ && number > target()) {  // the file's index led too far
      may_seek_ = false;
      open(0);
      return;
    }
    for (; next_ < video_.size() && target() < number; ++next_) lost_[next_] = "the frame is damaged";
    place_ = is_known ? number + 1 : number;
    if (next_ == video_.size() || target() != number || !is_known) return;
    sought_ = false;
    if (waiting_.size() == kMostWaiting) waiting_.erase(waiting_.begin());
    waiting_[next_++] = std::move(frame);
    if (next_ == video_.size()) reader_.reset();
  }

  std::size_t target() const { return video_.chosen_[next_]; }

  /// The number of a frame that was decoded, and whether it is one of the index, or stands before that. Where
  /// timestamps go back, a frame is the next one that has its own; without a frame that has, it is counted.
  std::pair<std::size_t, bool> number_of(std::int64_t timestamp) const {
    const std::vector<FramePlace>& frames = index_.frames;
    if (index_.can_be_sought) {
      const auto found = std::ranges::lower_bound(frames, timestamp, {}, &FramePlace::timestamp);
      return {found - frames.begin(), found != frames.end() && found->timestamp == timestamp};
    }
    const std::size_t end = index_.has_timestamps ? std::min(frames.size(), place_ + kMostLost) : place_;
    for (std::size_t i = place_; i < end; ++i) {
      if (frames[i].timestamp == timestamp) return {i, true};
    }
    return {place_, place_ < frames.size()};
  }

  void lose_rest(const std::string& why) {
    for (; next_ < video_.size(); ++next_) lost_[next_] = why;
    reader_.reset();
  }

  const VideoFrames& video_;
  const VideoIndex& index_ = video_.index_;
  const int threads_;
  std::mutex mutex_;
  std::unique_ptr<VideoReader> reader_;
  std::size_t next_ = 0;      // the first chosen frame that was not decoded yet
  std::size_t told_end_ = 0;  // the first one of which the reader doesn't know that it is wanted
  std::size_t place_ = 0;     // the first frame of the video that was not decoded yet
  bool sought_ = false;       // nothing chosen came since the last seek
  bool may_seek_ = true;
  std::map<std::size_t, std::unique_ptr<VideoFrame>> waiting_;
  std::map<std::size_t, std::string> lost_;  // why
};

VideoFrames::VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most)
    : path_(std::move(path)),
      index_(index_video(
          path_, [&](const VideoIndex& so_far) { return chosen_frames(so_far.frames, choice, most).size() == most; })),
      chosen_(chosen_frames(index_.frames, choice, most)),
      content_(sampled_hash(path_)) {
  const int threads = std::clamp(usable_cpus(), 1, kMostThreads);
  cursors_ = {std::make_unique<Cursor>(*this, threads), std::make_unique<Cursor>(*this, threads)};
}

VideoFrames::~VideoFrames() = default;

Picture VideoFrames::read(std::size_t number) const {
  const PhaseMark mark(Phase::kDecode);
  std::unique_ptr<VideoFrame> frame = cursors_[0]->take(number);
  if (!frame) frame = cursors_[1]->take_again(number);
  if (!frame) throw Error("the frame can't be found again");
  return turn_upright(std::move(frame->picture), index_.orientation);
}

}  // namespace evener::data
