#include "data/open/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/codecs/decode.h"
#include "data/codecs/picture.h"
#include "data/image_files.h"
#include "data/picture_listing.h"
#include "data/sources/foreign_files.h"
#include "data/sources/loaded_images.h"
#include "data/video/video.h"
#include "data/video/video_files.h"

namespace evener::data {
namespace {

Animation animation_in(const std::string& file) {
  if (!has_extension(file, {".gif", ".png", ".apng", ".webp", ".avif", ".avifs", ".heics", ".heifs"})) return {};
  Animation found = Animation::kNone;
  failure_of([&] { found = animation_of(read_image_file(file)); }, "read it");  // is told where it is shown
  return found;
}

}  // namespace

bool names_videos(const std::string& location) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(location, error)) return is_live_source(location) || is_video_file(location);
  bool has_video = false;
  fs::recursive_directory_iterator it(location, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (has_image_extension(it->path())) return false;
    has_video = has_video || has_video_extension(it->path());
  }
  return has_video;
}

Pictures::Pictures(const std::vector<std::string>& locations, const std::optional<FrameChoice>& frames) {
  const auto live = frames ? std::ranges::find_if(locations, is_live_source) : locations.end();
  if (live != locations.end()) {
    if (locations.size() > 1) {
      throw UsageError("'" + *live + "' gives pictures until it is stopped: name it alone, without other places");
    }
    open_live(*live, *frames);
    return;
  }
  const ListVideos videos = !frames ? ListVideos::kNone : frames->is_default() ? ListVideos::kNamed : ListVideos::kAll;
  PictureListing listing = list_pictures(locations, videos);
  skipped_ = std::move(listing.skipped);
  notes_ = std::move(listing.notes);
  passed_over_ = std::move(listing.passed_over);
  const bool asks_for_frames = frames && !frames->is_default();
  for (std::string& file : listing.files) {
    const Animation animation = asks_for_frames ? animation_in(file) : Animation::kNone;
    if (listing.videos.contains(file) || animation == Animation::kFrames) {
      add_video(file, *frames);
    } else {
      if (animation == Animation::kFirst) {
        notes_.push_back("'" + file +
                         "' is animated, and FFmpeg gives no frames of such a file: its first one is taken");
      }
      names_.push_back(std::move(file));
    }
  }
  if (names_.empty()) refuse(locations);
}

void Pictures::open_live(const std::string& location, const FrameChoice& choice) {
  try {
    live_ = std::make_shared<LiveFrames>(location, open_live_video(location), choice);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error("'" + location + "': " + error.what());
  }
}

void Pictures::add_video(const std::string& file, const FrameChoice& choice) {
  std::size_t left = choice.most;
  for (const Video& video : videos_) left -= video.frames->size();
  if (left == 0) return;
  Video video{file, names_.size(), nullptr};
  const auto open = [&] { video.frames = std::make_shared<VideoFrames>(file, choice, left); };
  if (const std::string why = failure_of(open, "read it"); !why.empty()) {
    skipped_.push_back({file, why});
    return;
  }
  for (std::size_t i = 0; i < video.frames->size(); ++i) names_.push_back(frame_name(file, video.frames->time_s(i)));
  const VideoIndex& index = video.frames->index();
  for (const std::string& note : index.notes) notes_.push_back("'" + file + "' " + note);
  if (!index.broken_off.empty()) notes_.push_back("'" + file + "' ends early: " + index.broken_off);
  videos_.push_back(std::move(video));
}

void Pictures::refuse(const std::vector<std::string>& locations) const {
  std::string names;
  for (const std::string& location : locations) names += (names.empty() ? "'" : ", '") + location + "'";
  for (const std::string& location : locations) {
    const std::string hint = foreign_files_hint(location);
    if (!hint.empty()) throw Error("no image files in " + names + ", but " + hint);
  }
  if (locations.size() == 1 && skipped_.size() == 1 && skipped_.front().file == locations.front()) {
    throw Error(names + ": " + skipped_.front().reason);
  }
  std::string passed_over;
  for (const std::string& note : notes()) passed_over += "; " + note;
  throw Error("no image files (.jpg, .png, .webp, .bmp, .tif, .pgm, ...) in " + names + passed_over +
              first_skipped(skipped_));
}

void Pictures::require_all() const {
  if (!skipped_.empty()) throw Error("something can't be read (--strict):" + first_skipped(skipped_));
  for (const Video& video : videos_) {
    const std::string& why = video.frames->index().broken_off;
    if (!why.empty()) throw Error("'" + video.file + "' ends early (--strict): " + why);
  }
}

std::vector<std::string> Pictures::notes() const {
  std::vector<std::string> all = passed_over_.notes();
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

void Pictures::require_readable() const {
  constexpr std::size_t kMostTried = 64;
  if (live_) return;
  std::string first_reason;
  const std::size_t tried = std::min(names_.size(), kMostTried);
  for (std::size_t i = 0; i < tried; ++i) {
    const std::string reason = failure_of([&] { read(i); }, "decode it");
    if (reason.empty()) return;
    if (first_reason.empty()) first_reason = reason;
  }
  if (tried < names_.size()) return;
  throw Error(fmt::format("no image can be read: of {} none is whole; '{}': {}", counted(tried, "file"),
                          printable(names_.front()), first_reason));
}

const Pictures::Video* Pictures::video_of(std::size_t index) const {
  const auto after = std::ranges::upper_bound(videos_, index, {}, &Video::first);
  if (after == videos_.begin()) return nullptr;
  const Video& video = *std::prev(after);
  return index < video.first + video.frames->size() ? &video : nullptr;
}

const std::string& Pictures::file(std::size_t index) const {
  const Video* const video = video_of(index);
  return video != nullptr ? video->file : source(index);
}

std::optional<double> Pictures::time_s(std::size_t index) const {
  if (live_) return live_->time_s(index);
  const Video* const video = video_of(index);
  return video != nullptr ? std::optional(video->frames->time_s(index - video->first)) : std::nullopt;
}

Picture Pictures::read(std::size_t index) const {
  if (live_) return live_->read(index);
  if (const Video* const video = video_of(index)) return video->frames->read(index - video->first);
  return decode_image_file(read_image_file(names_[index]));
}

PictureSurvey survey_pictures(const Pictures& pictures, int threads, const Progress& progress) {
  std::vector<ImageShape> shapes(pictures.size());
  std::vector<std::string> reasons(pictures.size());
  DeepImages deep;
  const auto look = [&](std::size_t i) {
    reasons[i] = failure_of(
        [&] {
          const Picture picture = pictures.read(i);
          deep.add(picture);
          shapes[i] = {picture.channels, picture.height, picture.width};
        },
        "decode it");
  };
  for_each_index(pictures.size(), threads, look, progress);

  PictureSurvey survey;
  survey.notes = deep.notes();
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> sizes;  // pixels, width, height
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const ImageShape& shape = shapes[i];
    if (!reasons[i].empty()) {
      survey.unreadable.push_back({pictures.source(i), reasons[i]});
      continue;
    }
    ++(shape.channels == 1 ? survey.grey : survey.colour);
    ++sizes[{shape.width * shape.height, shape.width, shape.height}];
  }
  for (const auto& [size, count] : sizes) {
    const PictureSize found{std::get<1>(size), std::get<2>(size), count};
    if (survey.smallest.pictures == 0) survey.smallest = found;
    survey.largest = found;
    if (count > survey.commonest.pictures) survey.commonest = found;
  }
  return survey;
}

std::vector<std::string> deep_notes(const Pictures& pictures) {
  if (pictures.live() != nullptr) return {};
  constexpr std::size_t kMostLookedAt = 16;
  const std::size_t step = (pictures.size() + kMostLookedAt - 1) / kMostLookedAt;
  DeepImages deep;
  for (std::size_t i = 0; i < pictures.size(); i += step) {
    if (pictures.video_of(i) != nullptr) continue;
    failure_of(  // which is told when it is to be shown
        [&] {
          const std::string file = read_image_file(pictures.source(i));
          if (read_picture_header(file).has_16_bits) deep.add(decode_image_file(file));
        },
        "decode it");
  }
  return deep.notes();
}

}  // namespace evener::data
