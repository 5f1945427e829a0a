#include "data/video/live_frames.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "base/stop.h"
#include "base/this_work.h"

namespace evener::data {
namespace {

/// How many frames can still be read after they were waited for: more than are ever on their way to a network.
constexpr std::size_t kKept = 64;
/// How many names are kept, unless all are asked for: a camera may run for weeks.
constexpr std::size_t kNamed = 65536;

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

}  // namespace evener::data
