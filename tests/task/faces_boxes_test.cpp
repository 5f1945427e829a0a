// What happens to boxes between the detector's networks.
#include <gmock/gmock.h>

#include "task/faces/mtcnn.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

TEST(FaceBoxes, OfBoxesThatShareMuchTheLikeliestStays) {
  // The second shares 50 of 150 with the first; the third lies inside the first, a quarter of it; the fourth is alone.
  const std::vector<FaceBox> boxes = {
      {0, 0, 10, 10, 0.8F}, {5, 0, 15, 10, 0.9F}, {0, 0, 5, 5, 0.7F}, {50, 50, 60, 60, 0.1F}};
  EXPECT_THAT(nms(boxes, 0.3F, Overlap::kUnion), ElementsAre(1, 2, 3));
  EXPECT_THAT(nms(boxes, 0.34F, Overlap::kUnion), ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(nms(boxes, 0.24F, Overlap::kUnion), ElementsAre(1, 2, 3)) << "the third shares with who is gone";
  // Of the smaller one's area, with sides a pixel longer: 6 of 11 columns, and all of the third.
  EXPECT_THAT(nms(boxes, 0.54F, Overlap::kSmaller), ElementsAre(1, 2, 3));
  EXPECT_THAT(nms(boxes, 0.55F, Overlap::kSmaller), ElementsAre(1, 0, 3));
  EXPECT_THAT(nms({}, 0.5F, Overlap::kUnion), ElementsAre());
}

TEST(FaceBoxes, BoxesThatTouchShareNothing) {
  const std::vector<FaceBox> boxes = {{0, 0, 10, 10, 0.9F}, {10, 0, 20, 10, 0.8F}};
  EXPECT_THAT(nms(boxes, 0, Overlap::kUnion), ElementsAre(0, 1));
  EXPECT_THAT(nms(boxes, 0, Overlap::kSmaller), ElementsAre(0)) << "they share the column of pixels at 10";
}

// Boxes around a whole photo are cut to the same pixels, so their probabilities are equal to the last bit.
TEST(FaceBoxes, OfEquallyLikelyOnesTheFirstOrTheLastStays) {
  const std::vector<FaceBox> boxes = {{0, 0, 10, 10, 0.9F}, {0, 0, 10, 11, 0.9F}, {0, 0, 10, 12, 0.9F}};
  EXPECT_THAT(nms(boxes, 0.5F, Overlap::kUnion), ElementsAre(0));
  EXPECT_THAT(nms(boxes, 0.5F, Overlap::kSmaller), ElementsAre(2));
}

TEST(FaceBoxes, SidesAreShiftedBySharesOfTheExtents) {
  const FaceBox box{10, 20, 30, 60, 0.5F};
  const FaceBox first = shifted(box, {0.1F, 0.5F, -0.1F, 0.25F}, /*one_more=*/false);
  EXPECT_THAT((std::vector{first.x1, first.y1, first.x2, first.y2}), ElementsAre(12, 40, 28, 70));
  EXPECT_EQ(first.probability, 0.5F);
  const FaceBox second = shifted(box, {1, 1, 0, 0}, /*one_more=*/true);
  EXPECT_THAT((std::vector{second.x1, second.y1, second.x2, second.y2}), ElementsAre(31, 61, 30, 60));
}

TEST(FaceBoxes, ASquareKeepsTheMiddle) {
  const FaceBox tall = squared({10, 20, 30, 60, 0.5F}), wide = squared({0, 0, 5, 2, 0.5F});
  EXPECT_THAT((std::vector{tall.x1, tall.y1, tall.x2, tall.y2}), ElementsAre(0, 20, 40, 60));
  EXPECT_THAT((std::vector{wide.x1, wide.y1, wide.x2, wide.y2}), ElementsAre(0, -1.5F, 5, 3.5F));
}

TEST(FaceBoxes, PixelsAreCountedFromOneAndCutAtTheBorders) {
  const auto pixels = [](const FaceBox& box) {
    const data::PictureArea area = pixels_of(box, 100, 50);
    return std::vector<std::int64_t>{area.x, area.y, area.width, area.height};
  };
  EXPECT_THAT(pixels({10.9F, 20.1F, 30.9F, 40, 0}), ElementsAre(9, 19, 21, 21)) << "10..30 and 20..40, both included";
  EXPECT_THAT(pixels({-5, -0.5F, 30, 40, 0}), ElementsAre(0, 0, 30, 40));
  EXPECT_THAT(pixels({90, 40, 130.5F, 70, 0}), ElementsAre(89, 39, 11, 11));
  EXPECT_EQ(pixels({-30, 5, -10, 40, 0})[2], 0) << "left of the photo";
  EXPECT_EQ(pixels({10, 60, 40, 90, 0})[3], 0) << "below it";
  EXPECT_EQ(pixels({40, 10, 20, 30, 0})[2], 0) << "inside out";
}

}  // namespace
}  // namespace evener::task
