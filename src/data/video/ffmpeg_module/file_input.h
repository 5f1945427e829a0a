// A video file or pipe as libavformat reads it: through our own reads, so that it opens nothing else, whatever the file
// names.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "base/descriptor.h"
#include "data/video/ffmpeg_module/handles.h"

namespace evener::data::video_module {

class FileInput {
 public:
  /// Opens a container and finds its video. Throws Error with the reason alone: the file can't be read, is of no kind
  /// that is known, has no video, is encrypted, or its codec is unknown.
  explicit FileInput(const std::filesystem::path& path);

  AVFormatContext& format() { return *format_; }
  const AVStream& stream() const { return *stream_; }
  const AVCodec& decoder() const { return *decoder_; }
  /// The next packet of the video; false at the end. Throws Error where the file can't be read, Interrupted after
  /// stop().
  bool read(AVPacket& packet);
  /// Why the end came before the end of the video; "" = it didn't.
  const std::string& broken_off() const { return broken_off_; }

  /// Seconds since the start of the video.
  double seconds(std::int64_t timestamp) const;
  /// Frames a second; 0 = not known.
  double rate() const;
  /// The EXIF orientation by which the display matrix turns frames upright.
  int orientation() const;

  bool is_pipe() const { return is_pipe_; }
  void stop() { stopped_ = true; }

 private:
  static int read_bytes(void* self, std::uint8_t* bytes, int count);
  static std::int64_t seek_to(void* self, std::int64_t offset, int whence);
  void open();
  void find_video();
  bool wait_for_bytes() const;

  Descriptor file_;
  bool is_pipe_ = false;
  std::atomic<bool> stopped_ = false;
  int read_error_ = 0;  // errno
  std::string broken_off_;
  Io io_;  // outlives format_, which reads through it
  Input format_;
  AVStream* stream_ = nullptr;
  const AVCodec* decoder_ = nullptr;
};

}  // namespace evener::data::video_module
