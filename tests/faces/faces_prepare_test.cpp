// Faces cut out and turned upright.
#include <gmock/gmock.h>

#include <cmath>

#include "faces/photos/embedder.h"

namespace evener::faces {
namespace {

using testing::Each;

/// Red is the column, green the row, blue 7.
data::Picture coordinates(std::int64_t height, std::int64_t width) {
  data::Picture picture = data::Picture::unset(3, height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      std::uint8_t* const pixel = picture.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(x);
      pixel[1] = static_cast<std::uint8_t>(y);
      pixel[2] = 7;
    }
  }
  return picture;
}

struct Cropped {
  std::optional<data::Picture> face;

  int red(std::int64_t y, std::int64_t x) const { return face->row(y)[3 * x]; }
  int green(std::int64_t y, std::int64_t x) const { return face->row(y)[3 * x + 1]; }
};

Cropped cropped(const data::Picture& photo, const FaceBox& box, std::int64_t size, double margin) {
  return {crop_face(photo, box, size, size, margin)};
}

TEST(CropFace, CornersAreCutToWholePixelsAfterTheyWereClamped) {
  const data::Picture photo = coordinates(60, 80);
  // 10.9 and 20.2 become 10 and 20, 14.99 becomes 14: as large as the result, so pixels stay as they are.
  const Cropped exact = cropped(photo, {10.9F, 20.2F, 14.99F, 24.1F, 1}, 4, 0);
  ASSERT_TRUE(exact.face);
  EXPECT_EQ(exact.red(0, 0), 10);
  EXPECT_EQ(exact.red(0, 3), 13);
  EXPECT_EQ(exact.green(0, 0), 20);
  EXPECT_EQ(exact.green(3, 3), 23);
  const Cropped corner = cropped(photo, {-7, -3, 4.5F, 4.5F, 1}, 4, 0);
  EXPECT_EQ(corner.red(0, 0), 0);
  EXPECT_EQ(corner.green(3, 3), 3);
  const Cropped other = cropped(photo, {76.5F, 56.5F, 200, 200, 1}, 4, 0);
  EXPECT_EQ(other.red(0, 3), 79);
  EXPECT_EQ(other.green(3, 0), 59);
}

TEST(CropFace, AMarginIsPixelsOfTheResult) {
  // 4 of 8 pixels are margin, so the box of 4 pixels becomes one of 8: 2 more on each side.
  const Cropped face = cropped(coordinates(60, 80), {20, 30, 24, 34, 1}, 8, 4);
  ASSERT_TRUE(face.face);
  EXPECT_EQ(face.red(0, 0), 18);
  EXPECT_EQ(face.red(0, 7), 25);
  EXPECT_EQ(face.green(0, 0), 28);
}

TEST(CropFace, AMarginIsTakenOfEachSideByItself) {
  // Of 8 columns 4 are margin, 2 more on each side of the box.
  const Cropped face{crop_face(coordinates(60, 80), {20, 30, 24, 42, 1}, 24, 8, 4)};
  ASSERT_TRUE(face.face);
  EXPECT_EQ(face.red(0, 0), 18);
  EXPECT_EQ(face.red(0, 7), 25);
  // Of 24 rows as many: 1.2 more above and below, so that rows 28 to 42 of the photo are seen.
  EXPECT_EQ(face.green(0, 0), 28);
  EXPECT_EQ(face.green(23, 0), 42);
}

TEST(CropFace, ABoxBesideThePhotoGivesNothing) {
  const data::Picture photo = coordinates(60, 80);
  for (const FaceBox& box : std::vector<FaceBox>{{-20, 5, -10, 15, 1},
                                                 {90, 5, 99, 15, 1},
                                                 {5, 70, 9, 80, 1},
                                                 {20, 20, 10, 30, 1},
                                                 {10.2F, 5, 10.8F, 15, 1}}) {
    EXPECT_FALSE(cropped(photo, box, 4, 0).face) << box.x1;
  }
}

TEST(PortraitOf, IsASquareOnThePhoto) {
  const data::Picture photo = coordinates(60, 80);
  const auto corners = [&](const FaceBox& box) {
    const FaceBox square = portrait_of(photo, box);
    return std::vector{square.x1, square.y1, square.x2, square.y2};
  };
  EXPECT_THAT(corners({30, 20, 40, 36, 1}), testing::ElementsAre(25, 18, 45, 38)) << "20 pixels around (35, 28)";
  EXPECT_THAT(corners({-10, 50, 6, 66, 1}), testing::ElementsAre(0, 40, 20, 60)) << "moved onto the photo";
  EXPECT_THAT(corners({10, 0, 70, 60, 1}), testing::ElementsAre(10, 0, 70, 60)) << "no larger than the photo";
}

std::array<Point, 5> moved(const std::array<Point, 5>& points, const Similarity& by) {
  std::array<Point, 5> result{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    result[i] = {static_cast<float>(by.a * points[i].x - by.b * points[i].y + by.c),
                 static_cast<float>(by.b * points[i].x + by.a * points[i].y + by.d)};
  }
  return result;
}

/// The places of SphereFace's landmarks.
constexpr std::array<Point, 5> kUpright = {
    {{30.2946F, 51.6963F}, {65.5318F, 51.5014F}, {48.0252F, 71.7366F}, {33.5493F, 92.3655F}, {62.7299F, 92.2041F}}};

TEST(Similarity, ATurnAScaleAndAShiftComeBack) {
  constexpr double kTurn = 0.4;
  const Similarity given{2.5 * std::cos(kTurn), 2.5 * std::sin(kTurn), -30, 17};
  const Similarity found = similarity(kUpright, moved(kUpright, given));
  EXPECT_NEAR(found.a, given.a, 1e-5);  // the points are floats of some hundred
  EXPECT_NEAR(found.b, given.b, 1e-5);
  EXPECT_NEAR(found.c, given.c, 1e-3);
  EXPECT_NEAR(found.d, given.d, 1e-3);
}

TEST(Similarity, FivePointsInOnePlaceGiveNone) {
  const Similarity found = similarity({}, kUpright);
  EXPECT_EQ(found.a, 1);
  EXPECT_EQ(found.b, 0);
}

TEST(AlignFace, LandmarksComeToTheirPlaces) {
  // On a photo whose colours are its coordinates, the aligned face tells where each of its pixels was.
  const data::Picture photo = coordinates(200, 220);
  constexpr double kTurn = -0.3;
  const Similarity given{1.2 * std::cos(kTurn), 1.2 * std::sin(kTurn), 30, 40};
  std::vector<std::uint8_t> face(3 * 112 * 96);
  align_face(photo, moved(kUpright, given), {3, 112, 96}, face);
  for (const auto& [x, y] : std::vector<std::pair<int, int>>{{30, 52}, {66, 52}, {48, 72}, {10, 20}, {90, 100}}) {
    EXPECT_NEAR(face[static_cast<std::size_t>(y * 96 + x)], given.a * x - given.b * y + given.c, 0.51);
    EXPECT_NEAR(face[static_cast<std::size_t>((112 + y) * 96 + x)], given.b * x + given.a * y + given.d, 0.51);
    EXPECT_EQ(face[static_cast<std::size_t>((2 * 112 + y) * 96 + x)], 7);
  }
}

TEST(AlignFace, BesideThePhotoItIsBlackAndOtherSizesScale) {
  std::vector<std::uint8_t> face(3 * 224 * 192);
  align_face(coordinates(60, 80), moved(kUpright, {1, 0, 300, 300}), {3, 224, 192}, face);
  EXPECT_THAT(face, Each(0));
  std::vector<std::uint8_t> twice(3 * 224 * 192);
  align_face(coordinates(200, 200), kUpright, {3, 224, 192}, twice);
  EXPECT_EQ(twice[100 * 192 + 80], 40) << "twice as large, in its place";
  EXPECT_EQ(twice[(224 + 100) * 192 + 80], 50);
}

TEST(AlignFace, APhotoThatEndsWithinTheFaceEndsWithItsLastPixel) {
  std::vector<std::uint8_t> face(3 * 112 * 96);
  align_face(coordinates(60, 80), moved(kUpright, {1, 0, -10, -20}), {3, 112, 96}, face);
  for (std::size_t y = 0; y < 112; ++y) {
    for (std::size_t x = 0; x < 96; ++x) {
      const bool is_on_photo = x >= 10 && x < 90 && y >= 20 && y < 80;
      ASSERT_EQ(face[y * 96 + x], is_on_photo ? x - 10 : 0) << x << " " << y;
      ASSERT_EQ(face[(112 + y) * 96 + x], is_on_photo ? y - 20 : 0) << x << " " << y;
      ASSERT_EQ(face[(2 * 112 + y) * 96 + x], is_on_photo ? 7 : 0) << x << " " << y;
    }
  }
}

TEST(AlignFace, AWiderFaceHasItsLandmarksInTheMiddle) {
  std::vector<std::uint8_t> square(3 * 112 * 112);
  align_face(coordinates(200, 200), kUpright, {3, 112, 112}, square);
  EXPECT_EQ(square[50 * 112 + 48], 40) << "8 pixels to the right, as ArcFace has them";
  EXPECT_EQ(square[(112 + 50) * 112 + 48], 50);
}

TEST(AlignFace, GreyPhotosGiveGreyFaces) {
  data::Picture grey = data::Picture::unset(1, 150, 150);
  std::fill_n(grey.pixels.get(), grey.bytes(), std::uint8_t{90});
  std::vector<std::uint8_t> face(3 * 112 * 96);
  align_face(grey, kUpright, {3, 112, 96}, face);
  EXPECT_THAT(face, Each(90));
}

}  // namespace
}  // namespace evener::faces
