// Frames of a camera or a pipe, which come at a rate of their own: who is too slow for them misses some.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "data/codecs/picture.h"
#include "data/video/frame_choice.h"
#include "data/video/video.h"

namespace evener::data {

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
