// Links the faces on consecutive frames of a video into tracks: one for each time that a person is in view.
#pragma once

#include <cstddef>
#include <vector>

#include "faces/photos/faces.h"

namespace evener::faces {

/// A face of a track: face `face` of the frame `frame` of link_faces().
struct TrackedFace {
  std::size_t frame = 0, face = 0;
};

struct FaceTrack {
  std::vector<TrackedFace> faces;  // in the order of the frames, one of a frame at most
  std::size_t best = 0;            // the one of the highest face_quality()
  double first_s = 0, last_s = 0;
  std::vector<float> embedding;  // the mean of all, each scaled to length 1, weighted by quality
};

struct TrackOptions {
  double least_overlap = 0.3;  // intersection over union with the track's last box ...
  double far = 1.0;            // ... of faces whose distance (0 to 2) from the track is no larger
  double near = 0.8;           // so near a face belongs to a track wherever it is
  double longest_gap_s = 1;    // between faces of a track; three frames that were looked at in any case
};

/// The times and faces of one frame; what they point to must stay.
struct FrameFaces {
  double time_s = 0;
  const std::vector<EmbeddedFace>* faces = nullptr;
};

/// How well a person can be recognised on a face: the length of its side in pixels, times its probability, times how
/// much it looks ahead (1: the nose lies in the middle between the eyes; 0: beside them).
double face_quality(const Face& face);

/// The share of the union of two boxes that both cover.
double overlap_of(const FaceBox& a, const FaceBox& b);

/// Links faces frame by frame, the most alike first (overlap and similarity of embeddings together). A face's distance
/// from a track is that from its last face, or from the mean of all, whichever is smaller. Tracks come in the
/// order of their first faces.
std::vector<FaceTrack> link_faces(const std::vector<FrameFaces>& frames, const TrackOptions& options = {});

}  // namespace evener::faces
