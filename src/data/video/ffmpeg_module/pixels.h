// Pixels as codecs have them to RGB and back, as FFmpeg's own programs convert them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data/codecs/picture.h"
#include "data/video/ffmpeg_module/handles.h"

namespace evener::data::video_module {

/// Converts frames to RGB. Thread-safe: each call has a scaler of its own, which later calls use again.
class ToRgb {
 public:
  ToRgb();
  ~ToRgb();
  /// As stored, not turned. The matrix and the range are the frame's; without one BT.601 and limited range, as the
  /// program ffmpeg has it. Throws Error.
  Picture convert(const AVFrame& frame);

 private:
  struct Lane;
  std::unique_ptr<Lane> take(const AVFrame& frame);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> free_;
};

/// Fills a frame of any pixel format from RGB (BT.601, limited range). The frame may be larger by a row or a column,
/// which repeat the last ones.
class FromRgb {
 public:
  /// Throws Error for a format that can't be made.
  FromRgb(int width, int height, AVPixelFormat format);
  void convert(const Picture& picture, AVFrame& frame);

 private:
  Scaler scaler_;
  Frame padded_;
};

}  // namespace evener::data::video_module
