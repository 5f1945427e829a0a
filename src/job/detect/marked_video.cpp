#include "job/detect/marked_video.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/stop.h"
#include "data/resize.h"
#include "data/video/video.h"
#include "job/detect/pictures.h"
#include "job/progress.h"
#include "job/sort_folder.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// One video, whose writer begins with the first frame, as the size is known then.
class MarkedVideo {
 public:
  explicit MarkedVideo(fs::path path) : path_(std::move(path)) {}

  void add(data::Picture picture, double time_s) {
    if (!writer_) {
      width_ = picture.width;
      height_ = picture.height;
      begin_s_ = time_s;
      writer_ = std::make_unique<data::VideoWriter>(path_, width_, height_);
    }
    if (picture.width != width_ || picture.height != height_) {
      picture = data::resize(std::move(picture), height_, width_);
    }
    writer_->add(picture, time_s - begin_s_);
  }

  /// False where there was no frame.
  bool finish() {
    if (writer_) writer_->finish();
    return writer_ != nullptr;
  }

 private:
  const fs::path path_;
  std::unique_ptr<data::VideoWriter> writer_;
  std::int64_t width_ = 0, height_ = 0;
  double begin_s_ = 0;
};

}  // namespace

std::vector<fs::path> write_marked_videos(const fs::path& folder, const BoxSink& writer, const task::Photos& photos,
                                          const std::vector<std::string>& classes, const task::Lettering& lettering,
                                          Observer& line, std::vector<data::Skipped>& lost) {
  std::vector<fs::path> written;
  std::set<std::string> taken;
  LoadingProgress progress(line);
  fs::create_directories(folder / "pictures");
  for (const data::Pictures::Video& video : photos.pictures()->videos()) {
    const std::string name = free_name(fs::path(video.file).stem().string() + ".mp4",
                                       [&](const std::string& one) { return taken.contains(one); });
    taken.insert(name);
    MarkedVideo marked(folder / "pictures" / name);
    const auto begin = std::ranges::lower_bound(writer.photos(), video.first, {}, &LookedAt::index);
    const auto end =
        std::ranges::lower_bound(writer.photos(), video.first + video.frames->size(), {}, &LookedAt::index);
    const std::span<const LookedAt> frames(begin, end);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (stop_requested()) throw Interrupted("stopped while writing '" + name + "', of which nothing is kept");
      data::Picture picture;
      try {
        picture = photos.picture(frames[i].index);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& error) {
        lost.push_back({frames[i].found.file, error.what()});
        continue;
      }
      const std::vector<task::DrawnBox> boxes = boxes_to_draw(frames[i].found, writer.shown_confidence(), classes);
      marked.add(task::with_boxes(std::move(picture), boxes, lettering),
                 video.frames->time_s(frames[i].index - video.first));
      progress.update("writing the video with boxes", i + 1, frames.size());
    }
    if (marked.finish()) written.push_back(folder / "pictures" / name);
  }
  line.finish();
  return written;
}

}  // namespace evener::job
