#include "faces/persons/track.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace evener::faces {
namespace {

std::vector<float> of_length_1(std::span<const float> row) {
  double squares = 0;
  for (const float value : row) squares += double{value} * double{value};
  std::vector<float> unit(row.begin(), row.end());
  if (squares > 0) {
    for (float& value : unit) value = static_cast<float>(double{value} / std::sqrt(squares));
  }
  return unit;
}

/// The Euclidean distance of two directions, each scaled to length 1.
double distance_of(std::span<const float> a, std::span<const float> b) {
  double product = 0, a2 = 0, b2 = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    product += double{a[i]} * double{b[i]};
    a2 += double{a[i]} * double{a[i]};
    b2 += double{b[i]} * double{b[i]};
  }
  const double cosine = a2 > 0 && b2 > 0 ? product / std::sqrt(a2 * b2) : 0;
  return std::sqrt(std::max(0.0, 2 - 2 * cosine));
}

/// A track that is being made.
struct OpenTrack {
  FaceTrack track;
  FaceBox last;
  std::vector<float> last_embedding;
  std::size_t last_frame = 0;
  double best_quality = -1;
};

struct PossibleLink {
  std::size_t track = 0, face = 0;
  double likeness = 0;
};

/// The tracks that each face may belong to, the most alike first.
std::vector<PossibleLink> possible_links(const std::vector<OpenTrack>& tracks, const FrameFaces& frame,
                                         std::size_t number, const TrackOptions& options) {
  constexpr std::size_t kMostMissed = 3;
  std::vector<PossibleLink> all;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    const OpenTrack& open = tracks[t];
    const bool is_over =
        number - open.last_frame > kMostMissed && frame.time_s - open.track.last_s > options.longest_gap_s;
    if (is_over) continue;
    for (std::size_t f = 0; f < frame.faces->size(); ++f) {
      const EmbeddedFace& face = (*frame.faces)[f];
      const double overlap = overlap_of(open.last, face.face.box);
      const double distance =
          std::min(distance_of(open.track.embedding, face.embedding), distance_of(open.last_embedding, face.embedding));
      const bool is_one = distance <= options.near || (overlap >= options.least_overlap && distance <= options.far);
      if (is_one) all.push_back({t, f, overlap + 1 - distance / 2});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &PossibleLink::likeness);
  return all;
}

void add_to(OpenTrack& open, std::size_t frame, std::size_t number, double time_s, const EmbeddedFace& face) {
  FaceTrack& track = open.track;
  const double quality = face_quality(face.face);
  if (quality > open.best_quality) {
    open.best_quality = quality;
    track.best = track.faces.size();
  }
  if (track.faces.empty()) track.first_s = time_s;
  track.last_s = time_s;
  track.faces.push_back({frame, number});
  const std::vector<float> unit = of_length_1(face.embedding);
  track.embedding.resize(unit.size());
  for (std::size_t i = 0; i < unit.size(); ++i) {
    track.embedding[i] += unit[i] * static_cast<float>(std::max(quality, 1e-3));
  }
  open.last = face.face.box;
  open.last_embedding = face.embedding;
  open.last_frame = frame;
}

}  // namespace

double face_quality(const Face& face) {
  const FaceBox& box = face.box;
  const double side = std::sqrt(std::max(0.0, double{box.x2 - box.x1}) * std::max(0.0, double{box.y2 - box.y1}));
  const Point &left = face.landmarks[0], &right = face.landmarks[1], &nose = face.landmarks[2];
  const double across_x = double{right.x} - double{left.x}, across_y = double{right.y} - double{left.y};
  const double across2 = across_x * across_x + across_y * across_y;
  double ahead = 0;
  if (across2 > 0) {
    // Where the nose lies from the left eye (0) to the right one (1), seen along the line between them.
    const double place =
        ((double{nose.x} - double{left.x}) * across_x + (double{nose.y} - double{left.y}) * across_y) / across2;
    ahead = std::max(0.0, 1 - 2 * std::abs(place - 0.5));
  }
  return side * double{box.probability} * ahead;
}

double overlap_of(const FaceBox& a, const FaceBox& b) {
  const double width = double{std::min(a.x2, b.x2)} - double{std::max(a.x1, b.x1)};
  const double height = double{std::min(a.y2, b.y2)} - double{std::max(a.y1, b.y1)};
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height;
  return both / (double{a.area()} + double{b.area()} - both);
}

std::vector<FaceTrack> link_faces(const std::vector<FrameFaces>& frames, const TrackOptions& options) {
  std::vector<OpenTrack> tracks;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const FrameFaces& frame = frames[i];
    std::vector<bool> is_taken(tracks.size()), is_linked(frame.faces->size());
    for (const PossibleLink& one : possible_links(tracks, frame, i, options)) {
      if (is_taken[one.track] || is_linked[one.face]) continue;
      is_taken[one.track] = is_linked[one.face] = true;
      add_to(tracks[one.track], i, one.face, frame.time_s, (*frame.faces)[one.face]);
    }
    for (std::size_t f = 0; f < frame.faces->size(); ++f) {
      if (!is_linked[f]) add_to(tracks.emplace_back(), i, f, frame.time_s, (*frame.faces)[f]);
    }
  }
  std::vector<FaceTrack> made;
  for (OpenTrack& open : tracks) made.push_back(std::move(open.track));
  return made;
}

}  // namespace evener::faces
