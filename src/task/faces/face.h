// A face that was found on a photo.
#pragma once

#include <array>

namespace evener::task {

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

}  // namespace evener::task
