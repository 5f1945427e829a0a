// Image files at their own size, without labels, and frames of videos: what a network that is already trained is shown.
// And a survey of them: their sizes, their colours, and which of them are unusable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/each_index.h"
#include "data/passed_over.h"
#include "data/skipped.h"
#include "data/video/video_frames.h"

namespace evener::data {

/// A list of image files and of frames of videos, each of which is decoded whenever it is asked for. Opening lists
/// names, and the times of frames, and decodes nothing, so that it is quick, and takes no memory for pixels, however
/// many files there are. A camera or a pipe, which has to be alone, is a list whose end isn't known.
class Pictures {
 public:
  /// Lists the image files that `locations` name (list_pictures in data/picture_listing.h says what those may be, and
  /// in which order files come). Videos are no pictures without `frames`, which says which of their frames are taken.
  /// Throws Error when there is none; Interrupted after a stop request.
  explicit Pictures(const std::vector<std::string>& locations, const std::optional<FrameChoice>& frames = {});

  /// How many there are; of a live source the most that may come, which kEndless stands for where nobody said so.
  std::size_t size() const { return live_ ? std::min(live_->most(), kEndless) : names_.size(); }
  static constexpr std::size_t kEndless = 1'000'000'000;
  /// Whether picture `index` is there. A live source is waited for: see LiveFrames::wait_for.
  bool has(std::size_t index) const { return live_ ? live_->wait_for(index) : index < names_.size(); }
  /// The path of file `index`, beginning as its location was given; of a frame with its time: "clip.mp4@12.040s".
  const std::string& source(std::size_t index) const { return live_ ? live_->name(index) : names_[index]; }
  /// Decodes file `index` (phases "read" and "decode") at its own size, upright by its EXIF orientation, with 1 channel
  /// (grey) or 3 (RGB), as it has them. Thread-safe. Throws Error with the reason alone if that is impossible; callers
  /// list such a file with it and go on.
  Picture read(std::size_t index) const;

  /// Frames of a video, one after the other in the list.
  struct Video {
    std::string file;
    std::size_t first = 0;  // the index of its first frame
    std::shared_ptr<const VideoFrames> frames;
  };
  const std::vector<Video>& videos() const { return videos_; }
  /// The video of a frame; nullptr of an image file.
  const Video* video_of(std::size_t index) const;
  /// The path of the image file, or of the video.
  const std::string& file(std::size_t index) const;
  /// The time of a frame in its video, in seconds; absent of an image file.
  std::optional<double> time_s(std::size_t index) const;
  /// The camera or pipe; nullptr where there is none.
  const LiveFrames* live() const { return live_.get(); }

  /// Throws Error, with the reason of the first file, where none of the files can be decoded. Stops at the first file
  /// that can, which is usually the very first, and looks at no more than some. A live source isn't looked at.
  void require_readable() const;

  /// Throws Error where something could not be opened, or a video isn't whole: what --strict asks for.
  void require_all() const;

  /// Folders that could not be listed, and videos that could not be opened.
  const std::vector<Skipped>& skipped() const { return skipped_; }
  /// What a user should know: files that were named twice, folders that were passed over, whose images are counted now.
  std::vector<std::string> notes() const;

 private:
  void open_live(const std::string& location, const FrameChoice& choice);
  void add_video(const std::string& file, const FrameChoice& choice);
  [[noreturn]] void refuse(const std::vector<std::string>& locations) const;

  std::vector<std::string> names_;
  std::vector<Video> videos_;
  std::shared_ptr<LiveFrames> live_;
  std::vector<Skipped> skipped_;
  std::vector<std::string> notes_;
  PassedOver passed_over_;
};

/// Whether a location is a video, a camera or a pipe, or a folder with videos and no image file.
bool names_videos(const std::string& location);

/// A size that some pictures have, in pixels.
struct PictureSize {
  std::int64_t width = 0, height = 0;
  std::size_t pictures = 0;  // of exactly this size
};

struct PictureSurvey {
  std::size_t grey = 0, colour = 0;  // pictures that can be decoded; only their sizes count
  /// Smallest and largest by the number of pixels. All three have 0 pictures where none can be decoded.
  PictureSize smallest, largest, commonest;
  std::vector<Skipped> unreadable;  // in the order of the files
  std::vector<std::string> notes;   // of images of 16 bits that use few of their values

  std::size_t readable() const { return grey + colour; }
};

/// Decodes every picture once, on `threads` threads, as only this shows whether it can be decoded; keeps none in
/// memory. Throws Interrupted after a stop request.
PictureSurvey survey_pictures(const Pictures& pictures, int threads, const Progress& progress = {});

/// PictureSurvey::notes by a few pictures spread over all. Only the headers are read of those that don't have 16 bits.
std::vector<std::string> deep_notes(const Pictures& pictures);

}  // namespace evener::data
