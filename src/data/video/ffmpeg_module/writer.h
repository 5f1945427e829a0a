// Encodes a video into a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "data/video/ffmpeg_module/handles.h"
#include "data/video/ffmpeg_module/pixels.h"
#include "data/video/video.h"

namespace evener::data::video_module {

class FileWriter : public VideoWriter {
 public:
  FileWriter(std::filesystem::path path, const VideoFormat& format);
  ~FileWriter() override;

  void add(const Picture& frame, double time_s) override;
  void finish() override;
  std::string codec() const override { return codec_->codec->name; }

 private:
  static int write_bytes(void* self, const std::uint8_t* bytes, int count);
  static std::int64_t seek_to(void* self, std::int64_t offset, int whence);
  void open_codec(const VideoFormat& format);
  void open_file(const VideoFormat& format);
  /// Writes the packets that the encoder has ready.
  void write_packets();
  /// Throws Error where `code` tells a failure.
  void require(int code, const char* what) const;

  const std::filesystem::path path_, temporary_;
  Descriptor file_;
  int write_error_ = 0;  // errno
  Io io_;                // outlives output_, which writes through it
  Output output_;
  AVStream* stream_ = nullptr;
  Codec codec_;
  std::optional<FromRgb> from_rgb_;
  Packet packet_ = new_packet();
  std::int64_t last_ = -1;  // time of the last frame
  bool finished_ = false;
};

}  // namespace evener::data::video_module
