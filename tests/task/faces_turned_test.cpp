// Where faces of turned photos lie on the photos as they are.
#include <gmock/gmock.h>

#include "data/codecs/exif.h"
#include "task/faces/face_detector.h"

namespace evener::task {
namespace {

/// The only white pixel of a picture.
Point white_pixel(const data::Picture& photo) {
  for (std::int64_t y = 0; y < photo.height; ++y) {
    for (std::int64_t x = 0; x < photo.width; ++x) {
      if (photo.row(y)[x] == 255) return {static_cast<float>(x), static_cast<float>(y)};
    }
  }
  return {-1, -1};
}

data::Picture with_white_pixel(std::int64_t x, std::int64_t y) {
  data::Picture photo = data::Picture::unset(1, 5, 8);
  std::fill_n(photo.pixels.get(), photo.bytes(), std::uint8_t{0});
  photo.row(y)[x] = 255;
  return photo;
}

// The pixels themselves are turned by what turns photos with EXIF.
TEST(TurnedPhoto, LandmarksAndBoxesGoBackToTheirPixels) {
  const int orientations[] = {1, 6, 3, 8};
  for (int quarters = 0; quarters < 4; ++quarters) {
    const data::Picture turned = data::turn_upright(with_white_pixel(6, 1), orientations[quarters]);
    const Point there = white_pixel(turned);
    Face face;
    face.box = {there.x, there.y, there.x + 1, there.y + 1, 0.5F};  // the edges of the pixel
    face.landmarks.fill(there);
    const Face before = turned_back(face, quarters, turned.width, turned.height);
    EXPECT_EQ(before.landmarks[2].x, 6) << quarters;
    EXPECT_EQ(before.landmarks[2].y, 1) << quarters;
    EXPECT_EQ(before.box.x1, 6) << quarters;
    EXPECT_EQ(before.box.y1, 1) << quarters;
    EXPECT_EQ(before.box.x2, 7) << quarters;
    EXPECT_EQ(before.box.y2, 2) << quarters;
    EXPECT_EQ(before.box.probability, 0.5F);
  }
}

}  // namespace
}  // namespace evener::task
