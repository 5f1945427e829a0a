// Photos that lie on a side without an EXIF orientation that says so.
#pragma once

#include <vector>

#include "data/codecs/picture.h"
#include "task/faces/face.h"
#include "task/faces/face_detector.h"

namespace evener::task {

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

}  // namespace evener::task
