// Frames out of videos and cameras, and frames into videos, by the programs ffmpeg and ffprobe. Which frames are looked
// at, and who reads them when, is decided beside this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/child.h"
#include "data/codecs/picture.h"

namespace evener::data {

/// Where a frame stands in its video.
struct FramePlace {
  /// In units of the stream; of a stream whose frames have no timestamps the frame's number from 0.
  std::int64_t timestamp = 0;
  double time_s = 0;    // since the video's start, as players show it
  bool is_key = false;  // decoding can begin here
};

/// The frames of a video in the order in which they are shown, found without decoding any.
struct VideoIndex {
  std::vector<FramePlace> frames;
  bool has_timestamps = true;      // FramePlace::timestamp is one
  bool can_be_sought = true;       // these rise, and frames can be sought by them
  std::string broken_off;          // how much of it came, where that isn't all; "" = the video is whole
  std::vector<std::string> notes;  // what a user should know, beginning with a verb
  int stream = 0;                  // the number of the video among all streams of the file
  int orientation = 1;             // the EXIF orientation that turns frames upright
  std::int64_t pixels = 0;         // of a frame
};

/// Lists a video's frames. `enough` is asked now and then with what is known, whose frames are sorted; true ends the
/// search early. Throws Error with the reason alone where the file is no video that can be decoded, or ffmpeg is
/// missing; Interrupted after a stop request.
VideoIndex index_video(const std::filesystem::path& path, const std::function<bool(const VideoIndex&)>& enough);

struct VideoFrame {
  FramePlace place;
  Picture picture;  // RGB
};

/// Gives frames one after the other. For one thread, but for stop().
class VideoReader {
 public:
  virtual ~VideoReader() = default;
  /// The next frame that can be decoded, in the order in which frames are shown; null after the last one. What is
  /// damaged is passed over. Throws Error where the file can't be read any more, Interrupted after stop().
  virtual std::unique_ptr<VideoFrame> next() = 0;
  /// Makes a next() that waits give up. Thread-safe.
  virtual void stop() = 0;
};

/// Which frames of a video file a reader gives.
struct ReadFrom {
  int stream = 0;     // see VideoIndex
  double time_s = 0;  // it begins at the last key frame that isn't later, or before that; 0 = at the start
  /// Timestamps of frames that are wanted, rising. Others needn't come, but all after the last one do. Empty = all.
  std::vector<std::int64_t> wanted = {};
  std::int64_t pixels = 0;  // of a frame, for the limit of memory
};
/// Decodes a video file with `threads` threads. Frames aren't turned. Throws as index_video().
std::unique_ptr<VideoReader> open_video(const std::filesystem::path& path, int threads, const ReadFrom& from);

/// Waits for the first frame of a pipe with a video, or of a camera such as /dev/video0, which gives frames of 1280x720
/// or the nearest size that it has. Frames are upright. Throws Error with the reason alone where it is neither.
std::unique_ptr<VideoReader> open_live_video(const std::filesystem::path& path);

/// Writes a video of H.264, or MPEG-4 where there is no encoder for that, under a temporary name, which finish()
/// changes into its own. Without finish() nothing stays behind.
class VideoWriter {
 public:
  /// Sizes are made even. Throws Error, for an ending that names no container too.
  VideoWriter(std::filesystem::path path, std::int64_t width, std::int64_t height);
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Times must grow. Throws Error where a frame can't be encoded or written, as on a full disk.
  void add(const Picture& frame, double time_s);
  void finish();

 private:
  void send(const std::string& bytes);
  /// Waits for the program's end; throws Error with its reason where that wasn't good.
  void require_end();

  const std::filesystem::path path_, temporary_;
  std::unique_ptr<PipedChild> program_;
  std::int64_t last_ = -1;  // time of the last frame
  bool finished_ = false;
};

}  // namespace evener::data
