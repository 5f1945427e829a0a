// Cases of detection quality that can be told by hand.
#include <gmock/gmock.h>

#include <limits>
#include <tuple>

#include "base/error.h"
#include "detect/decoders/anchors.h"
#include "detect/decoders/boxes.h"
#include "detect/judge/average_precision.h"

namespace evener::detection {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

TrueBox truth(double x1, double x2, std::int32_t label = 0) {
  TrueBox box;
  box.x1 = x1, box.x2 = x2, box.y1 = 0, box.y2 = 50, box.label = label;
  return box;
}

Detection found(float x1, float x2, float score, std::int32_t label = 0) {
  return {x1, 0, x2, 50, label, score};
}

TEST(DetectQuality, ADifficultBoxIsNeitherMissedNorWrong) {
  TrueBox difficult = truth(100, 150);
  difficult.is_difficult = true;
  DetectionTally tally(1);
  const std::vector<TrueBox> there = {truth(0, 50), difficult};
  tally.add(0, std::vector{found(100, 150, 0.9F), found(100, 149, 0.8F), found(0, 50, 0.7F)}, there);
  const DetectionQuality quality = quality_of(tally);
  EXPECT_EQ(quality.true_boxes, 1);
  EXPECT_THAT(quality.voc_2010, Optional(1.0));
  // COCO's `ignore` excuses one box: the second on the difficult object is wrong, before the right one is found.
  EXPECT_THAT(quality.coco.ap_50, Optional(testing::DoubleNear(0.5, 1e-9)));
}

// Both objects are overlapped by 40 of 60 pixels: VOC's devkit takes the first, pycocotools the last. The second box
// finds the object on the left alone.
TEST(DetectQuality, OfEquallyOverlappedObjectsVocTakesTheFirstAndCocoTheLast) {
  const std::vector<Detection> boxes = {found(10, 60, 0.9F), found(0, 50, 0.8F)};
  const TrueBox left = truth(0, 50), right = truth(20, 70);
  for (const bool left_is_first : {true, false}) {
    const auto judged = judge(0, boxes, left_is_first ? std::vector{left, right} : std::vector{right, left});
    ASSERT_EQ(judged.size(), 2U);
    EXPECT_EQ(judged[0].voc, VocVerdict::kTrue);
    EXPECT_EQ(judged[1].voc, left_is_first ? VocVerdict::kFalse : VocVerdict::kTrue);
    const std::size_t at_half = coco_bit(AreaRange::kAll, 0);
    EXPECT_TRUE(judged[0].is_matched(at_half));
    EXPECT_EQ(judged[1].is_matched(at_half), left_is_first);
  }
}

TEST(DetectQuality, NothingInACrowdIsWrong) {
  TrueBox crowd = truth(100, 300);
  crowd.is_crowd = true;
  DetectionTally tally(1);
  const std::vector<TrueBox> there = {truth(0, 50), crowd};
  tally.add(0, std::vector{found(100, 150, 0.9F), found(180, 230, 0.8F), found(0, 50, 0.7F)}, there);
  const DetectionQuality quality = quality_of(tally);
  EXPECT_THAT(quality.coco.ap, Optional(testing::DoubleNear(1, 1e-9)));
  EXPECT_THAT(quality.voc_2007, Optional(testing::DoubleNear(1, 1e-9)));
}

TEST(DetectQuality, CocoLooksAtAHundredBoxesOfAClassAndVocAtAll) {
  std::vector<Detection> boxes(200, found(500, 600, 0.9F));
  boxes.push_back(found(0, 50, 0.1F));
  DetectionTally tally(2);
  boxes.push_back(found(0, 50, 0.05F, 1));
  tally.add(0, boxes, std::vector{truth(0, 50), truth(0, 50, 1)});
  const DetectionQuality quality = quality_of(tally);
  EXPECT_THAT(quality.classes[0].coco, Optional(0.0));
  EXPECT_THAT(quality.classes[1].coco, Optional(testing::DoubleNear(1, 1e-9))) << "each class has its own hundred";
  EXPECT_THAT(quality.classes[0].voc_2010, Optional(testing::DoubleNear(1 / 201.0, 1e-9)));
  EXPECT_THAT(quality.coco.ar_100, Optional(0.5));
  EXPECT_FALSE(quality.coco.ap_small.has_value()) << "there is no small box";
}

TEST(DetectQuality, TheCurveHasAPointForEachBoxThatCounts) {
  DetectionTally tally(1);
  tally.add(0, std::vector{found(0, 50, 0.75F), found(300, 350, 0.5F), found(100, 150, 0.25F)},
            std::vector{truth(0, 50), truth(100, 150)});
  const PrecisionCurve curve = precision_curve(tally, 0);
  EXPECT_THAT(curve.recall, ElementsAre(0.5, 0.5, 1));
  EXPECT_THAT(curve.precision, ElementsAre(1, 0.5, 2.0 / 3));
  EXPECT_THAT(curve.score, ElementsAre(0.75, 0.5, 0.25));
}

TEST(DetectQuality, LabelsOutsideTheClassesAreRefused) {
  DetectionTally tally(2);
  EXPECT_THAT([&] { tally.add(7, std::vector{found(0, 1, 0.5F, 2)}, {}); },
              testing::ThrowsMessage<Error>(HasSubstr("image 7 has a box with label 2, of 2 classes")));
  EXPECT_THAT([&] { tally.join(DetectionTally(3)); }, testing::ThrowsMessage<Error>(HasSubstr("3 classes")));
}

/// One anchor in the middle of an image of 100 x 100, and one that covers it all.
const std::vector<network::Anchor> kAnchors = {{0.5F, 0.5F, 0.2F, 0.2F}, {0.5F, 0.5F, 1, 1}};

TEST(DetectDecode, WhatIsNoNumberOrHasNoAreaIsLeftOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> scores = {0, 3, 0, 2};
  EXPECT_THAT(decode(std::vector{nan, 0.0F, 0.0F, 0.0F, inf, 0.0F, 0.0F, 0.0F}, scores, kAnchors, 100, 100, {}),
              IsEmpty());
  EXPECT_THAT(decode(std::vector<float>(8), std::vector{nan, nan, inf, 0.0F}, kAnchors, 100, 100, {}), IsEmpty());
  // Far to the right of the image.
  EXPECT_THAT(decode(std::vector{90.0F, 0.0F, 0.0F, 0.0F, 20.0F, 0.0F, 0.0F, 0.0F}, scores, kAnchors, 100, 100, {}),
              IsEmpty());
}

TEST(DetectDecode, BoxesGrowByNoMoreThanTorchvisionLetsThem) {
  // An anchor of 16 pixels in the middle of 4000: a side grows to 1000 and no further.
  const std::vector<network::Anchor> anchors = {{0.5F, 0.5F, 0.004F, 0.004F}};
  const std::vector<float> scores = {0, 3};
  for (const std::size_t side : {2U, 3U}) {
    std::vector<float> offsets(4);
    offsets[side] = 400;
    const auto found = decode(offsets, scores, anchors, 4000, 4000, {});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(found[0].x2 - found[0].x1, side == 2 ? 1000 : 16, 0.01);
    EXPECT_NEAR(found[0].y2 - found[0].y1, side == 3 ? 1000 : 16, 0.01);
  }
}

TEST(DetectDecode, TellsOnlyTheWantedClassesAndSoManyBoxes) {
  const std::vector<float> scores = {0, 3, 2, 0, 1, 4};
  DecodeOptions options{.confidence = 0.01F};
  EXPECT_EQ(decode(std::vector<float>(8), scores, kAnchors, 100, 100, options).size(), 4U);
  options.labels = {1};
  const auto found = decode(std::vector<float>(8), scores, kAnchors, 100, 100, options);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].x1, 0);
  EXPECT_EQ(found[1].x1, 40);
  EXPECT_EQ(found[0].label, 1);
  options.most = 1;
  EXPECT_EQ(decode(std::vector<float>(8), scores, kAnchors, 100, 100, options).size(), 1U);
  EXPECT_THAT([&] { decode(std::vector<float>(8), std::vector<float>(5), kAnchors, 100, 100, options); },
              testing::ThrowsMessage<Error>(HasSubstr("2 anchors put out 8 offsets and 5 scores")));
}

TEST(DetectDecode, BoxesReturnToThePhoto) {
  // A photo of 200 x 100 on a square of 100, letterboxed: half its size, 25 pixels from the top.
  const PhotoPlace place{.scale_x = 0.5F, .scale_y = 0.5F, .left = 0, .top = 25};
  const auto boxes = on_photo({{10, 35, 60, 85, 3, 0.5F}, {0, 0, 100, 20, 1, 0.4F}}, place, 200, 100);
  EXPECT_THAT(boxes, ElementsAre(Detection{20, 20, 120, 100, 3, 0.5F})) << "the second lies beside the photo";
}

TEST(DetectQuality, LimitsBelongToBothSides) {
  const auto of_side = [](double side) {
    TrueBox box;
    box.x2 = box.y2 = side;
    return box;
  };
  for (const auto& [side, small, medium, large] :
       {std::tuple(31.0, true, false, false), std::tuple(32.0, true, true, false), std::tuple(33.0, false, true, false),
        std::tuple(96.0, false, true, true), std::tuple(97.0, false, false, true)}) {
    EXPECT_EQ(is_counted(of_side(side), AreaRange::kSmall), small) << side;
    EXPECT_EQ(is_counted(of_side(side), AreaRange::kMedium), medium) << side;
    EXPECT_EQ(is_counted(of_side(side), AreaRange::kLarge), large) << side;
  }
  TrueBox crowd = truth(0, 50);
  crowd.is_crowd = true;
  const std::vector<Detection> boxes = {found(0, 100, 0.9F)};
  EXPECT_EQ(judge(0, boxes, std::vector{crowd}).front().voc, VocVerdict::kIgnored) << "just half of it is in the crowd";
  EXPECT_EQ(judge(0, boxes, std::vector{truth(0, 50)}).front().voc, VocVerdict::kTrue) << "they share just a half";
  EXPECT_EQ(judge(0, boxes, std::vector{truth(0, 49)}).front().voc, VocVerdict::kFalse);
}

TEST(DetectQuality, OfEquallyLikelyBoxesThatOfTheEarlierImageComesFirst) {
  for (const bool first_is_right : {true, false}) {
    DetectionTally tally(1);
    const std::vector<TrueBox> there = {truth(0, 50)};
    const std::vector<Detection> right = {found(0, 50, 0.5F)}, wrong = {found(100, 150, 0.5F)};
    tally.add(0, first_is_right ? right : wrong, there);
    tally.add(1, first_is_right ? wrong : right, there);
    EXPECT_THAT(quality_of(tally).voc_2010, Optional(first_is_right ? 0.5 : 0.25));
  }
}

TEST(DetectDecode, ABoxIsLikelierThanTheLeastConfidence) {
  const std::vector<network::Anchor> anchors = {{0.5F, 0.5F, 0.5F, 0.5F}};
  const std::vector<float> offsets(4, 0), scores = {1, 1};  // one half each
  EXPECT_THAT(decode(offsets, scores, anchors, 100, 100, {.confidence = 0.5F}), IsEmpty());
  EXPECT_EQ(decode(offsets, scores, anchors, 100, 100, {.confidence = 0.499F}).size(), 1U);
}

}  // namespace
}  // namespace evener::detection
