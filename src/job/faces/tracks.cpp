#include "job/faces/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "job/faces/known.h"
#include "task/faces/journal.h"

namespace evener::job {
namespace {

/// The frames of one video among all photos.
struct VideoPart {
  std::string name;
  std::vector<task::PhotoFaces*> frames;  // in order
};

std::vector<VideoPart> video_parts(std::vector<task::PhotoFaces>& all, const data::Pictures& photos) {
  std::vector<VideoPart> parts;
  for (task::PhotoFaces& photo : all) {
    const data::Pictures::Video* const video = photos.video_of(photo.photo);
    if (video == nullptr && photos.live() == nullptr) continue;
    const std::string& name = video != nullptr ? video->file : photos.live()->source();
    if (parts.empty() || parts.back().name != name) parts.push_back({name, {}});
    parts.back().frames.push_back(&photo);
  }
  return parts;
}

std::string rows_of(const VideoPart& part, const std::vector<task::FrameFaces>& frames,
                    const std::vector<task::FaceTrack>& tracks) {
  const std::string name = csv_cell(to_utf8_text(part.name));
  std::string rows;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    for (const task::TrackedFace& one : tracks[t].faces) {
      const task::FaceBox& box = (*frames[one.frame].faces)[one.face].face.box;
      rows += fmt::format("{},{},{:.3f},{:.2f},{:.2f},{:.2f},{:.2f},{:.6f}\n", name, t + 1, frames[one.frame].time_s,
                          box.x1, box.y1, box.x2, box.y2, box.probability);
    }
  }
  return rows;
}

/// Brings back thumbnails that were dropped to save memory. `wanted`: by the photo's content and the face's place.
void take_thumbnails(const std::filesystem::path& journal,
                     const std::map<std::pair<std::uint64_t, std::size_t>, task::EmbeddedFace*>& wanted) {
  if (wanted.empty()) return;
  task::read_journal(
      journal, [](const nlohmann::json&) {},
      [&](task::PhotoFaces photo) {
        for (std::size_t i = 0; i < photo.faces.size(); ++i) {
          const auto found = wanted.find({photo.content, i});
          if (found != wanted.end()) found->second->thumbnail = std::move(photo.faces[i].thumbnail);
        }
      });
}

}  // namespace

VideoTracks keep_tracks(std::vector<task::PhotoFaces>& all, const data::Pictures& photos,
                        const std::filesystem::path& folder, const std::filesystem::path& journal) {
  VideoTracks told;
  told.has_videos = photos.live() != nullptr || !photos.videos().empty();
  if (!told.has_videos) return told;
  std::ranges::sort(all, {}, &task::PhotoFaces::photo);
  std::string rows = "video,track,time_s,x1,y1,x2,y2,probability\n";
  std::map<std::pair<std::uint64_t, std::size_t>, task::EmbeddedFace*> without_thumbnail;
  for (const VideoPart& part : video_parts(all, photos)) {
    std::vector<task::FrameFaces> frames;
    for (const task::PhotoFaces* frame : part.frames) {
      frames.push_back({photos.time_s(frame->photo).value_or(0), &frame->faces});
    }
    const std::vector<task::FaceTrack> tracks = task::link_faces(frames);
    rows += rows_of(part, frames, tracks);
    std::size_t faces = 0;
    std::vector<std::vector<task::EmbeddedFace>> best(part.frames.size());
    std::vector<std::vector<std::size_t>> places(part.frames.size());  // on their frames before
    for (const task::FaceTrack& track : tracks) {
      faces += track.faces.size();
      const task::TrackedFace& one = track.faces[track.best];
      task::PhotoFaces& frame = *part.frames[one.frame];
      told.spans[{frame.photo, best[one.frame].size()}] = {track.first_s, track.last_s, track.faces.size()};
      best[one.frame].push_back(std::move(frame.faces[one.face]));
      best[one.frame].back().embedding = track.embedding;
      places[one.frame].push_back(one.face);
    }
    for (std::size_t i = 0; i < part.frames.size(); ++i) {
      part.frames[i]->faces = std::move(best[i]);
      for (std::size_t f = 0; f < places[i].size(); ++f) {
        task::EmbeddedFace& face = part.frames[i]->faces[f];
        if (face.thumbnail.empty()) without_thumbnail[{part.frames[i]->content, places[i][f]}] = &face;
      }
    }
    told.summary.push_back(fmt::format("{}: {} on {} make {}, each of a person for as long as they are in view.",
                                       part.name, counted(faces, "face"), counted(part.frames.size(), "frame"),
                                       counted(tracks.size(), "track")));
  }
  if (without_thumbnail.size() <= kMostThumbnails) take_thumbnails(journal, without_thumbnail);
  write_file_atomically(folder / "tracks.csv", rows);
  return told;
}

}  // namespace evener::job
