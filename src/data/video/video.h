// The interface of the module "video": frames out of video files, and frames into them. No types of its libraries
// appear here. Which frames are looked at, and who reads them when, is decided in data/video/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/codecs/picture.h"

namespace evener::data {

/// Where a frame stands in its video.
struct FramePlace {
  /// In units of the stream; of a stream whose frames have no usable timestamps the frame's number from 0.
  std::int64_t timestamp = 0;
  double time_s = 0;    // since the video's start, as players show it
  bool is_key = false;  // decoding can begin here
};

/// The frames of a video in the order in which they are shown, found without decoding any.
struct VideoIndex {
  std::vector<FramePlace> frames;
  bool has_timestamps = true;  // FramePlace::timestamp is one, and frames can be sought by it
  double rate = 0;             // frames a second; 0 = not known
  std::string broken_off;      // why nothing can be read after the last frame; "" = the video is whole
};

/// A decoded frame, whose pixels are still as the codec gave them.
class VideoFrame {
 public:
  virtual ~VideoFrame() = default;
  virtual FramePlace place() const = 0;
  /// In RGB and upright. Thread-safe, also beside calls on other frames of the same video. Throws Error.
  virtual Picture picture() const = 0;
};

/// Decodes a video from its start to its end. For one thread, but for stop().
class VideoReader {
 public:
  virtual ~VideoReader() = default;
  /// The next frame that can be decoded, in the order in which frames are shown; null after the last one. What is
  /// damaged is passed over. Throws Error where the file can't be read any more, Interrupted after stop().
  virtual std::unique_ptr<VideoFrame> next() = 0;
  /// Goes to a frame that VideoIndex calls a key frame: next() gives it, or some before it. False where that can't be
  /// done; the place is then undefined.
  virtual bool seek(const FramePlace& key) = 0;
  /// Makes a next() that waits for a pipe's other end give up. Thread-safe.
  virtual void stop() = 0;
};

/// How a video is written.
struct VideoFormat {
  std::int64_t width = 0, height = 0;
  double rate = 25;         // frames a second, for players; each frame has a time of its own
  std::string codec = {};   // a name such as "mpeg4"; "" = H.264 where there is an encoder for it, else MPEG-4
  int key_interval = 0;     // frames from one key frame to the next; 0 = as the encoder likes it
  int frames_between = -1;  // B-frames in a row; -1 = as the encoder likes it
  int quarters = 0;         // quarter turns to the right that players are told to make
  std::string pixels = {};  // such as "yuv444p"; "" = yuv420p, or what the codec takes
};

/// Writes a video under a temporary name, which finish() changes into its own. Without finish() nothing stays behind.
class VideoWriter {
 public:
  virtual ~VideoWriter() = default;
  /// Times must grow. Throws Error where a frame can't be encoded or written, as on a full disk.
  virtual void add(const Picture& frame, double time_s) = 0;
  virtual void finish() = 0;
  /// The encoder, as "libx264".
  virtual std::string codec() const = 0;
};

class VideoCodecs {
 public:
  virtual ~VideoCodecs() = default;
  /// Reads a video without decoding it. `enough` is asked now and then with what is known, whose frames are sorted;
  /// true ends the search early. Throws Error with the reason alone where the file is no video that can be decoded.
  virtual VideoIndex index(const std::filesystem::path& path,
                           const std::function<bool(const VideoIndex&)>& enough) const = 0;
  /// Opens a video to be decoded by `threads` threads. A pipe can be read, but not sought in. Throws as index().
  virtual std::unique_ptr<VideoReader> open(const std::filesystem::path& path, int threads) const = 0;
  /// Begins to write a video into a container of the kind that the ending of `path` names. Throws Error.
  virtual std::unique_ptr<VideoWriter> create(const std::filesystem::path& path, const VideoFormat& format) const = 0;
};

/// The module's instance; throws Error, naming the packages that are missing, where the module can't be used.
VideoCodecs& video_codecs();

}  // namespace evener::data
