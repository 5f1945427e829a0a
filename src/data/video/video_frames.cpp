#include "data/video/video_frames.h"

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"

namespace evener::data {
namespace {

constexpr int kMostThreads = 8;            // of a decoder; more gain little
constexpr std::size_t kMostWaiting = 32;   // decoded frames that nobody has asked for
constexpr std::size_t kWorthSeeking = 16;  // frames that needn't be decoded

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
  std::shared_ptr<VideoFrame> take(std::size_t number) {
    const std::scoped_lock lock(mutex_);
    return find(number);
  }

  /// Goes back where that is needed.
  std::shared_ptr<VideoFrame> take_again(std::size_t number) {
    const std::scoped_lock lock(mutex_);
    if (auto frame = find(number)) return frame;
    waiting_.clear();
    lost_.clear();
    next_ = number;
    if (!seek_for(number)) open();
    return find(number);
  }

 private:
  std::shared_ptr<VideoFrame> find(std::size_t number) {
    while (next_ <= number) advance();
    if (const auto found = waiting_.find(number); found != waiting_.end()) {
      std::shared_ptr<VideoFrame> frame = std::move(found->second);
      waiting_.erase(found);
      return frame;
    }
    if (const auto found = lost_.find(number); found != lost_.end()) throw Error(found->second);
    return nullptr;
  }

  void open() {
    reader_ = video_.codecs_.open(video_.path_, threads_);
    place_ = 0;
    counted_ = 0;
    sought_ = false;
  }

  /// Goes to the last key frame before a chosen frame; false where that isn't possible, or there is nothing to gain.
  bool seek_for(std::size_t number) {
    if (!reader_ || !video_.has_timestamps_ || !may_seek_) return false;
    std::size_t key = video_.chosen_[number];
    while (key > 0 && !video_.frames_[key].is_key) --key;
    if (!video_.frames_[key].is_key || !reader_->seek(video_.frames_[key])) return false;
    place_ = key;
    sought_ = true;
    return true;
  }

  bool is_worth_seeking() const {
    const std::size_t target = video_.chosen_[next_];
    if (target < place_ + kWorthSeeking) return false;
    for (std::size_t i = place_ + kWorthSeeking; i <= target; ++i) {
      if (video_.frames_[i].is_key) return true;
    }
    return false;
  }

  /// Decodes until the next chosen frame is there, or is known to be lost.
  void advance() {
    if (!reader_) open();
    if (is_worth_seeking() && !seek_for(next_)) open_at_start_again();
    std::shared_ptr<VideoFrame> frame;
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
    const std::int64_t stamp = video_.has_timestamps_ ? frame->place().timestamp : counted_++;
    if (sought_ && stamp > target()) {  // the file's index led too far
      may_seek_ = false;
      open();
      return;
    }
    for (; next_ < video_.size() && target() < stamp; ++next_) lost_[next_] = "the frame is damaged";
    const auto after = std::ranges::upper_bound(video_.frames_, stamp, {}, &FramePlace::timestamp);
    place_ = static_cast<std::size_t>(after - video_.frames_.begin());
    if (next_ == video_.size() || target() != stamp) return;
    sought_ = false;
    if (waiting_.size() == kMostWaiting) waiting_.erase(waiting_.begin());
    waiting_[next_++] = std::move(frame);
  }

  /// After a seek that failed.
  void open_at_start_again() {
    may_seek_ = false;
    open();
  }

  std::int64_t target() const { return video_.frames_[video_.chosen_[next_]].timestamp; }

  void lose_rest(const std::string& why) {
    for (; next_ < video_.size(); ++next_) lost_[next_] = why;
  }

  const VideoFrames& video_;
  const int threads_;
  std::mutex mutex_;
  std::unique_ptr<VideoReader> reader_;
  std::size_t next_ = 0;      // the first chosen frame that was not decoded yet
  std::size_t place_ = 0;     // the first frame of the video that was not decoded yet, roughly
  std::int64_t counted_ = 0;  // frames decoded since the start, of a video without timestamps
  bool sought_ = false;       // nothing chosen came since the last seek
  bool may_seek_ = true;
  std::map<std::size_t, std::shared_ptr<VideoFrame>> waiting_;
  std::map<std::size_t, std::string> lost_;  // why
};

VideoFrames::VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most,
                         const VideoCodecs& codecs)
    : path_(std::move(path)), codecs_(codecs) {
  const auto enough = [&](const VideoIndex& so_far) {
    return chosen_frames(so_far.frames, choice, most).size() == most;
  };
  VideoIndex index = codecs.index(path_, enough);
  chosen_ = chosen_frames(index.frames, choice, most);
  is_whole_ = chosen_.size() < most;
  frames_ = std::move(index.frames);
  has_timestamps_ = index.has_timestamps;
  rate_ = index.rate;
  content_ = sampled_hash(path_);
  broken_off_ = std::move(index.broken_off);
  const int threads = std::clamp(usable_cpus(), 1, kMostThreads);
  cursors_ = {std::make_unique<Cursor>(*this, threads), std::make_unique<Cursor>(*this, threads)};
}

VideoFrames::~VideoFrames() = default;

std::shared_ptr<VideoFrame> VideoFrames::fetch(std::size_t number) const {
  const PhaseMark mark(Phase::kDecode);
  if (auto frame = cursors_[0]->take(number)) return frame;
  return cursors_[1]->take_again(number);
}

Picture VideoFrames::read(std::size_t number) const {
  const std::shared_ptr<VideoFrame> frame = fetch(number);
  if (!frame) throw Error("the frame can't be found again");
  const PhaseMark mark(Phase::kDecode);
  return frame->picture();
}

}  // namespace evener::data
