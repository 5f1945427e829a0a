// Photos that lie on a side and don't say so.
#pragma once

#include <vector>

#include "data/codecs/picture.h"
#include "task/faces/face.h"
#include "task/faces/mtcnn.h"

namespace evener::task {

/// A photo as its faces were found on it.
struct TurnedPhoto {
  data::Picture photo;
  std::vector<Face> faces;  // where they are on the turned photo
  int quarters = 0;         // clockwise quarter turns that it took
};

/// Finds faces on a photo as it is, and where none of them is sure (95 %) on the photo turned by a quarter, a half and
/// three quarters. The turn of which the sure faces' probabilities add up to the most is kept; the photo as it is where
/// there are none at all.
TurnedPhoto find_turned(FaceDetector& detector, data::Picture photo);

/// Where a face lies on the photo as it was before `quarters` clockwise turns made it so wide and so high.
Face turned_back(const Face& face, int quarters, std::int64_t width, std::int64_t height);

}  // namespace evener::task
