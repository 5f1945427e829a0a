// The chosen frames of a video file, read by their number from several threads, out of decoders that go forward.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/video/frame_choice.h"
#include "data/video/video.h"

namespace evener::data {

class VideoFrames {
 public:
  /// Finds the frames without decoding any, and chooses at most `most` of them. Throws Error with the reason alone
  /// where the file is no video, or has no frames; Interrupted after a stop request. `codecs` must stay valid.
  VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most, const VideoCodecs& codecs);
  ~VideoFrames();

  std::size_t size() const { return chosen_.size(); }
  double time_s(std::size_t number) const { return frames_[chosen_[number]].time_s; }
  /// Frames a second of the video; 0 = not known.
  double rate() const { return rate_; }
  /// Whether all frames of the video are chosen.
  bool are_all() const { return is_whole_ && chosen_.size() == frames_.size(); }
  /// A hash of the file's length and of parts of it all over, by which a video is recognised under any name.
  std::uint64_t content() const { return content_; }
  /// Why nothing was found after the last frame; "" = the video is whole.
  const std::string& broken_off() const { return broken_off_; }

  /// A frame in RGB, upright. Thread-safe, and quick for callers who ask roughly in order: decoders then only go
  /// forward. Throws Error with the reason alone where the frame is damaged; Interrupted after a stop request.
  Picture read(std::size_t number) const;

 private:
  class Cursor;
  std::shared_ptr<VideoFrame> fetch(std::size_t number) const;

  const std::filesystem::path path_;
  const VideoCodecs& codecs_;
  std::vector<FramePlace> frames_;   // of the video, up to the last chosen one
  std::vector<std::size_t> chosen_;  // their numbers among frames_
  bool has_timestamps_ = true, is_whole_ = true;
  double rate_ = 0;
  std::uint64_t content_ = 0;
  std::string broken_off_;
  /// One for those who read on; and one for those who look back, so that the first needn't.
  std::array<std::unique_ptr<Cursor>, 2> cursors_;
};

}  // namespace evener::data
