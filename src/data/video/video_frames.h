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
  /// where the file is no video, or has no frames, or ffmpeg is missing; Interrupted after a stop request.
  VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most);
  ~VideoFrames();

  std::size_t size() const { return chosen_.size(); }
  double time_s(std::size_t number) const { return frames_[chosen_[number]].time_s; }
  /// A hash of the file's length and of parts of it all over, by which a video is recognised under any name.
  std::uint64_t content() const { return content_; }
  /// Why nothing was found after the last frame; "" = the video is whole.
  const std::string& broken_off() const { return broken_off_; }

  /// A frame in RGB, upright. Thread-safe, and quick for callers who ask roughly in order: decoders then only go
  /// forward. Throws Error with the reason alone where the frame is damaged; Interrupted after a stop request.
  Picture read(std::size_t number) const;

 private:
  class Cursor;

  const std::filesystem::path path_;
  std::vector<FramePlace> frames_;   // of the video, up to the last chosen one
  std::vector<std::size_t> chosen_;  // their numbers among frames_
  bool has_timestamps_ = true;
  int orientation_ = 1;      // that turns frames upright
  std::int64_t pixels_ = 0;  // of a frame
  std::uint64_t content_ = 0;
  std::string broken_off_;
  /// One for those who read on; and one for those who look back, so that the first needn't.
  std::array<std::unique_ptr<Cursor>, 2> cursors_;
};

}  // namespace evener::data
