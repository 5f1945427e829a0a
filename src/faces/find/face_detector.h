// What finds the faces on a photo, which may lie on a side without an EXIF orientation that says so.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/codecs/picture.h"

namespace evener::faces {

struct Point {
  float x = 0, y = 0;
};

/// Corners in pixels of the photo, which may lie outside of it.
struct FaceBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  float probability = 0;

  float area() const { return (x2 - x1) * (y2 - y1); }
};

struct Face {
  FaceBox box;
  /// The eye on the left of the photo, the eye on the right, the tip of the nose, the left and the right corner of the
  /// mouth.
  std::array<Point, 5> landmarks;
};

/// The seconds that a detector took for all photos so far.
struct DetectorTimes {
  double main_s = 0;   // of the part that main_part() names
  double other_s = 0;  // of all else
};

/// Not thread-safe: one for each thread.
class FaceDetector {
 public:
  virtual ~FaceDetector() = default;

  /// All faces, the likeliest first, in pixels of the photo. Photos without any give none.
  virtual std::vector<Face> find(const data::Picture& photo) = 0;

  /// Computes as much as a photo takes at most, on zeros, so that all memory for that has been taken.
  virtual void look_at_nothing() = 0;

  /// The probability from which hardly any box is something else than a face.
  virtual float sure_probability() const = 0;

  const DetectorTimes& times() const { return times_; }
  /// The part that usually takes longest: "MTCNN's first network".
  virtual std::string main_part() const = 0;

 protected:
  DetectorTimes times_;
};

/// Detectors for the threads of a device, with what a user should know of them.
struct FaceDetectors {
  std::vector<std::unique_ptr<FaceDetector>> lanes;
  std::vector<std::string> notes = {};
};

/// A photo, turned so that its faces are upright.
struct TurnedPhoto {
  data::Picture photo;
  std::vector<Face> faces;  // in pixels of the turned photo
  int quarters = 0;         // by how many clockwise quarter turns the photo was turned
};

/// Finds faces on the photo as it is. Where none of them is sure, by the detector's
/// probability for that, it also looks at the photo turned by one, two
/// and three quarters, and takes the turn with the largest sum of the probabilities of sure faces; the photo as it is
/// where no turn has any.
TurnedPhoto find_turned(FaceDetector& detector, data::Picture photo);

/// Where a face of the turned photo, which is `width` x `height` pixels, lies on the original photo, before its
/// `quarters` clockwise quarter turns.
Face turned_back(const Face& face, int quarters, std::int64_t width, std::int64_t height);

}  // namespace evener::faces
