// Decodes a video, and lists its frames without decoding them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "data/video/ffmpeg_module/file_input.h"
#include "data/video/ffmpeg_module/pixels.h"
#include "data/video/video.h"

namespace evener::data::video_module {

VideoIndex index_of(const std::filesystem::path& path, const std::function<bool(const VideoIndex&)>& enough);

class FileReader : public VideoReader {
 public:
  FileReader(const std::filesystem::path& path, int threads);

  std::unique_ptr<VideoFrame> next() override;
  bool seek(const FramePlace& key) override;
  void stop() override { input_.stop(); }

 private:
  /// Gives the decoder a packet, or tells it that there are no more.
  void feed();
  FramePlace place_of(const AVFrame& frame);

  FileInput input_;
  Codec codec_;
  Packet packet_ = new_packet();
  std::shared_ptr<ToRgb> to_rgb_ = std::make_shared<ToRgb>();
  bool all_read_ = false;
  std::int64_t decoded_ = 0;  // frames since the start
};

}  // namespace evener::data::video_module
