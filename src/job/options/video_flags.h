// Options about videos and cameras, of every command that takes them beside photos.
#pragma once

#include <optional>

#include "data/video/frame_choice.h"
#include "job/options/option.h"

namespace evener::job {

struct VideoFlags : OptionGroup {
  VideoFlags() : OptionGroup("Videos") {}

  Option<std::string> every{
      *this,
      {"--every", "1s|10",
       "Of videos and cameras: a frame of each second (1s, 0.5s, 200ms), or each tenth frame (10) (default: all)"}};
  Option<std::optional<std::int64_t>> frames{
      *this,
      {"--frames", "N", "Of videos and cameras: look at no more frames (default: all; of a camera until Ctrl-C)"},
      {},
      {.range = from_to(1, 1e12)}};

  /// Throws UsageError.
  data::FrameChoice choice() const {
    data::FrameChoice choice = data::parse_every(*every);
    if (const auto most = *frames) choice.most = static_cast<std::size_t>(*most);
    return choice;
  }

 private:
  void check_together() const override { choice(); }
};

}  // namespace evener::job
