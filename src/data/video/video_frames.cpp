#include "data/video/video_frames.h"

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"
#include "data/codecs/exif.h"

namespace evener::data {
namespace {

constexpr int kMostThreads = 8;                      // of a decoder; more gain little
constexpr std::size_t kMostWaiting = 32;             // decoded frames that nobody has asked for
constexpr std::size_t kMostTold = 1000;              // frames of which a decoder is told that they are wanted
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
    ReadFrom from{.time_s = key > 0 ? video_.frames_[key].time_s : 0, .wanted = {}, .pixels = video_.pixels_};
    told_end_ = std::min(video_.size(), next_ + kMostTold);
    const std::size_t passed = video_.chosen_[told_end_ - 1] - video_.chosen_[next_] + 1;
    if (video_.has_timestamps_ && passed > 2 * (told_end_ - next_)) {
      for (std::size_t i = next_; i < told_end_; ++i) {
        from.wanted.push_back(video_.frames_[video_.chosen_[i]].timestamp);
      }
    } else {
      told_end_ = video_.size();
    }
    reader_.reset();  // two programs at once would need twice the memory
    reader_ = open_video(video_.path_, threads_, from);
    place_ = key;
    counted_ = 0;
    sought_ = key > 0;
  }

  /// Goes to the last key frame before a chosen frame; false where that isn't possible.
  bool seek_for(std::size_t number) {
    if (!video_.has_timestamps_ || !may_seek_) return false;
    std::size_t key = video_.chosen_[number];
    while (key > 0 && !video_.frames_[key].is_key) --key;
    if (key == 0 || video_.frames_[key].time_s <= 0) return false;
    open(key);
    return true;
  }

  bool is_worth_seeking() const {
    if (!video_.has_timestamps_ || !may_seek_) return false;
    if (next_ == told_end_) return true;  // it would give all that follow
    const auto skipped = static_cast<std::size_t>(kWorthSeeking / std::max<std::int64_t>(video_.pixels_, 1)) + 1;
    const std::size_t target = video_.chosen_[next_];
    for (std::size_t i = place_ + skipped; i <= target; ++i) {
      if (video_.frames_[i].is_key) return true;
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
    const std::int64_t stamp = video_.has_timestamps_ ? frame->place.timestamp : counted_++;
    if (sought_ && stamp > target()) {  // the file's index led too far
      may_seek_ = false;
      open(0);
      return;
    }
    for (; next_ < video_.size() && target() < stamp; ++next_) lost_[next_] = "the frame is damaged";
    const auto after = std::ranges::upper_bound(video_.frames_, stamp, {}, &FramePlace::timestamp);
    place_ = static_cast<std::size_t>(after - video_.frames_.begin());
    if (next_ == video_.size() || target() != stamp) return;
    sought_ = false;
    if (waiting_.size() == kMostWaiting) waiting_.erase(waiting_.begin());
    waiting_[next_++] = std::move(frame);
    if (next_ == video_.size()) reader_.reset();
  }

  std::int64_t target() const { return video_.frames_[video_.chosen_[next_]].timestamp; }

  void lose_rest(const std::string& why) {
    for (; next_ < video_.size(); ++next_) lost_[next_] = why;
    reader_.reset();
  }

  const VideoFrames& video_;
  const int threads_;
  std::mutex mutex_;
  std::unique_ptr<VideoReader> reader_;
  std::size_t next_ = 0;      // the first chosen frame that was not decoded yet
  std::size_t told_end_ = 0;  // the first one of which the reader doesn't know that it is wanted
  std::size_t place_ = 0;     // the first frame of the video that was not decoded yet, roughly
  std::int64_t counted_ = 0;  // frames decoded since the start, of a video without timestamps
  bool sought_ = false;       // nothing chosen came since the last seek
  bool may_seek_ = true;
  std::map<std::size_t, std::unique_ptr<VideoFrame>> waiting_;
  std::map<std::size_t, std::string> lost_;  // why
};

VideoFrames::VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most)
    : path_(std::move(path)) {
  const auto enough = [&](const VideoIndex& so_far) {
    return chosen_frames(so_far.frames, choice, most).size() == most;
  };
  VideoIndex index = index_video(path_, enough);
  chosen_ = chosen_frames(index.frames, choice, most);
  frames_ = std::move(index.frames);
  has_timestamps_ = index.has_timestamps;
  orientation_ = index.orientation;
  pixels_ = index.pixels;
  content_ = sampled_hash(path_);
  broken_off_ = std::move(index.broken_off);
  const int threads = std::clamp(usable_cpus(), 1, kMostThreads);
  cursors_ = {std::make_unique<Cursor>(*this, threads), std::make_unique<Cursor>(*this, threads)};
}

VideoFrames::~VideoFrames() = default;

Picture VideoFrames::read(std::size_t number) const {
  const PhaseMark mark(Phase::kDecode);
  std::unique_ptr<VideoFrame> frame = cursors_[0]->take(number);
  if (!frame) frame = cursors_[1]->take_again(number);
  if (!frame) throw Error("the frame can't be found again");
  return turn_upright(std::move(frame->picture), orientation_);
}

}  // namespace evener::data
