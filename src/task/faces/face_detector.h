// What finds the faces on a photo.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "task/faces/face.h"

namespace evener::task {

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

}  // namespace evener::task
