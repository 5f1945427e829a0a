#include "faces/find/face_detector.h"

#include <cstring>
#include <utility>

#include "data/codecs/exif.h"

namespace evener::faces {
namespace {

/// EXIF's numbers for what a photo needs to be upright: nothing, a quarter turn clockwise, a half, three quarters.
constexpr int kOrientations[] = {1, 6, 3, 8};

float sureness(const std::vector<Face>& faces, float sure) {
  float sum = 0;
  for (const Face& face : faces) sum += face.box.probability >= sure ? face.box.probability : 0;
  return sum;
}

data::Picture turned(const data::Picture& photo, int quarters) {
  data::Picture copy = data::Picture::unset(photo.channels, photo.height, photo.width);
  std::memcpy(copy.pixels.get(), photo.pixels.get(), photo.bytes());
  return data::turn_upright(std::move(copy), kOrientations[quarters]);
}

/// Maps a face to its place before the last quarter turn, which made the photo `width` pixels wide.
Face turned_back_once(const Face& face, std::int64_t width) {
  const auto extent = static_cast<float>(width);
  Face before = face;
  before.box = {face.box.y1, extent - face.box.x2, face.box.y2, extent - face.box.x1, face.box.probability};
  for (Point& point : before.landmarks) point = {point.y, extent - 1 - point.x};  // places of pixels, not of edges
  return before;
}

}  // namespace

TurnedPhoto find_turned(FaceDetector& detector, data::Picture photo) {
  TurnedPhoto best{std::move(photo), {}, 0};
  best.faces = detector.find(best.photo);
  const float sure = detector.sure_probability();
  float most = sureness(best.faces, sure);
  if (most > 0) return best;
  TurnedPhoto surest;
  for (const int quarters : {1, 2, 3}) {
    TurnedPhoto other{turned(best.photo, quarters), {}, quarters};
    other.faces = detector.find(other.photo);
    if (sureness(other.faces, sure) <= most) continue;
    most = sureness(other.faces, sure);
    surest = std::move(other);
  }
  return most > 0 ? std::move(surest) : std::move(best);
}

Face turned_back(const Face& face, int quarters, std::int64_t width, std::int64_t height) {
  Face before = face;
  for (; quarters > 0; --quarters) {
    before = turned_back_once(before, width);
    std::swap(width, height);
  }
  return before;
}

}  // namespace evener::faces
