// Faces of videos: one for each track, in place of one for each frame.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/open/pictures.h"
#include "task/faces/track.h"

namespace evener::job {

/// How long a track's face is in view.
struct TrackSpan {
  double first_s = 0, last_s = 0;
  std::size_t frames = 0;  // on which it was found
};

/// The spans of the faces that stand for tracks, by the number of their photo and by their place on it.
using TrackSpans = std::map<std::pair<std::size_t, std::size_t>, TrackSpan>;

struct VideoTracks {
  TrackSpans spans;
  std::vector<std::string> summary;  // a sentence for each video
  bool has_videos = false;
};

/// Links the faces of each video (or camera) into tracks. Of the faces in `all` the best of each track is kept, with
/// the track's mean embedding; its thumbnail is taken from `journal` where it was dropped. Writes all faces with their
/// tracks into tracks.csv of `folder`. Changes nothing of photos.
VideoTracks keep_tracks(std::vector<task::PhotoFaces>& all, const data::Pictures& photos,
                        const std::filesystem::path& folder, const std::filesystem::path& journal);

}  // namespace evener::job
