// Which frames of a video are looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "data/video/video.h"

namespace evener::data {

struct FrameChoice {
  std::size_t every = 1;  // of the frames; 1 = all
  double every_s = 0;     // the first frame of each span of so many seconds; 0 = by their number
  std::size_t most = std::numeric_limits<std::size_t>::max();  // frames of all videos or of a camera together
  bool is_told = false;                                        // that --every was given, maybe as 1
  bool keeps_all_names = false;  // of a camera's frames, for those who tell of all of them at the end

  /// Whether the user said nothing of frames.
  bool is_default() const;
};

/// "10" is every tenth frame; "1s", "0.5s" and "200ms" are times. Throws UsageError.
FrameChoice parse_every(const std::string& text);

/// Takes or leaves frames one after the other, in their order.
class FrameChooser {
 public:
  explicit FrameChooser(const FrameChoice& choice) : choice_(choice) {}
  bool takes(double time_s);

 private:
  const FrameChoice choice_;
  std::size_t seen_ = 0;
  double begin_s_ = 0;
  std::int64_t next_span_ = 0;
};

/// The numbers of the chosen frames, at most `most`.
std::vector<std::size_t> chosen_frames(const std::vector<FramePlace>& frames, const FrameChoice& choice,
                                       std::size_t most);

/// "clip.mp4@12.040s": how a frame is named. Unique for frames at least a millisecond apart.
std::string frame_name(const std::string& video, double time_s);

}  // namespace evener::data
