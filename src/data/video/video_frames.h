// Which frames of videos, cameras and pipes are looked at, and who reads them when.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/codecs/picture.h"
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

/// The chosen frames of a video file, read by their number from several threads, out of decoders that go forward.
class VideoFrames {
 public:
  /// Finds the frames without decoding any, and chooses at most `most` of them. Throws Error with the reason alone
  /// where the file is no video, or has no frames, or ffmpeg is missing; Interrupted after a stop request.
  VideoFrames(std::filesystem::path path, const FrameChoice& choice, std::size_t most);
  ~VideoFrames();

  std::size_t size() const { return chosen_.size(); }
  double time_s(std::size_t number) const { return index_.frames[chosen_[number]].time_s; }
  /// A hash of the file's length and of parts of it all over, by which a video is recognised under any name.
  std::uint64_t content() const { return content_; }
  const VideoIndex& index() const { return index_; }

  /// A frame in RGB, upright. Thread-safe, and quick for callers who ask roughly in order: decoders then only go
  /// forward. Throws Error with the reason alone where the frame is damaged; Interrupted after a stop request.
  Picture read(std::size_t number) const;

 private:
  class Cursor;

  const std::filesystem::path path_;
  const VideoIndex index_;                 // up to the last chosen frame
  const std::vector<std::size_t> chosen_;  // frames' numbers
  const std::uint64_t content_;
  /// One for those who read on; and one for those who look back, so that the first needn't.
  std::array<std::unique_ptr<Cursor>, 2> cursors_;
};

/// Frames of a camera or a pipe, which come at a rate of their own: who is too slow for them misses some.
class LiveFrames {
 public:
  /// `name`: of the source, as the user named it.
  LiveFrames(std::string name, std::unique_ptr<VideoReader> source, const FrameChoice& choice);
  ~LiveFrames();
  LiveFrames(const LiveFrames&) = delete;
  LiveFrames& operator=(const LiveFrames&) = delete;

  /// Waits for frame `number`, which is the newest one then; those that came since the last call and weren't waited for
  /// are dropped. Numbers have to be asked for in order, by one thread at a time. False: there are no more, since the
  /// source has ended or failed, all that were wanted have come, or a stop was requested.
  bool wait_for(std::size_t number);

  /// The source, as the user named it.
  const std::string& source() const { return name_; }
  /// A frame that wait_for() told of. Thread-safe. Throws Error where it was too long ago.
  Picture read(std::size_t number) const;
  /// "/dev/video0@3.042s"; of frames that wait_for() told of; of the last 65536 of them, unless the
  /// choice keeps all names. Stays valid as long.
  const std::string& name(std::size_t number) const;
  double time_s(std::size_t number) const;

  /// Chosen frames that came and were not looked at.
  std::size_t dropped() const;
  /// Why the source gave up, with its name; "" = it didn't.
  std::string failure() const;
  /// The most frames that are wanted.
  std::size_t most() const { return choice_.most; }

 private:
  struct Given {
    std::string name;
    double time_s = 0;
  };

  void capture();

  const std::string name_;
  const std::unique_ptr<VideoReader> source_;
  const FrameChoice choice_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::shared_ptr<VideoFrame> newest_;                       // that nobody waited for yet
  std::map<std::size_t, std::shared_ptr<VideoFrame>> kept_;  // the last ones that were waited for
  std::map<std::size_t, Given> given_;
  std::size_t dropped_ = 0;
  bool is_over_ = false;  // nobody will wait any more: what comes is not dropped, and a failure is none
  bool ended_ = false;
  std::string failure_;
  std::thread thread_;
};

}  // namespace evener::data
