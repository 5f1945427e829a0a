// Rules that all decoders share: which boxes stay; and places, sides and overlaps of families on images that are no
// squares.
#include <gmock/gmock.h>

#include <cmath>

#include "detect/decoders/detection.h"
#include "detect/decoders/understand.h"

namespace evener::detection {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr Detection kLess{0, 0, 10, 10, 0, 0.5F}, kMore{0, 0, 10, 9, 0, 0.9F}, kOther{0, 0, 10, 10, 1, 0.7F},
    kAside{20, 0, 30, 10, 0, 0.4F};

TEST(Suppression, LeavesTheLikeliestOfAClassThatLieOnEachOther) {
  const std::vector<Detection> boxes = {kLess, kAside, kOther, kMore};
  EXPECT_THAT(suppressed(boxes, {}), ElementsAre(kMore, kOther, kAside));
  EXPECT_THAT(suppressed(boxes, {.iou = 0.9F}), SizeIs(4)) << "as much as is allowed";
  EXPECT_THAT(suppressed(boxes, {.iou = 0.89F}), SizeIs(3));
  EXPECT_THAT(likeliest(boxes, {}), ElementsAre(kMore, kOther, kLess, kAside));
}

TEST(Suppression, LooksAtSoManyOfAClassAndReturnsSoMany) {
  const std::vector<Detection> boxes = {kLess, kAside, kOther, kMore};
  EXPECT_THAT(suppressed(boxes, {.candidates = 1}), ElementsAre(kMore, kOther));
  EXPECT_THAT(suppressed(boxes, {.candidates = 2}), ElementsAre(kMore, kOther)) << "a hidden one was looked at, too";
  EXPECT_THAT(suppressed(boxes, {.candidates = 3}), ElementsAre(kMore, kOther, kAside));
  EXPECT_THAT(suppressed(boxes, {.most = 1}), ElementsAre(kMore));
  EXPECT_THAT(likeliest(boxes, {.most = 3}), ElementsAre(kMore, kOther, kLess));
  Detection same = kAside;
  same.score = kMore.score;
  EXPECT_THAT(suppressed({same, kMore}, {}), ElementsAre(same, kMore)) << "equally likely ones as they were given";
  EXPECT_THAT(suppressed({kMore, same}, {}), ElementsAre(kMore, same));
}

constexpr std::int64_t kImageWidth = 96, kImageHeight = 64;  // 12 x 8, 6 x 4 and 3 x 2 places of strides 8, 16 and 32
constexpr std::int64_t kAllPlaces = 96 + 24 + 6;

TrialOutput zeros(const std::string& name, std::vector<std::int64_t> shape) {
  TrialOutput output{.name = name, .type = "f32", .shape = std::move(shape), .values = {}};
  output.values.assign(static_cast<std::size_t>(output.shape[0] * output.shape[1]), 0);
  return output;
}

std::vector<Detection> found_by(const inference::FileHabits& detector, const DetectorFile& file) {
  ImageOutputs outputs;
  for (const TrialOutput& output : file.outputs) outputs[output.name] = output.values;
  return detector.decoder->found(outputs, {}, 1);
}

TEST(DecodersOfWideImages, GridsOfYoloxGoRowByRow) {
  DetectorFile file{.width = kImageWidth, .height = kImageHeight, .outputs = {zeros("output", {kAllPlaces, 8})}};
  const auto set = [&](std::size_t place, const std::vector<float>& values) {
    std::ranges::copy(values, file.outputs[0].values.begin() + static_cast<std::ptrdiff_t>(place * 8));
  };
  set(3 * 12 + 9, {0.25F, 0.5F, 0, std::log(3.0F), 0.9F, 0, 0, 1});            // column 9, row 3 of stride 8
  set(96 + 2 * 6 + 4, {0.5F, 0.25F, std::log(2.0F), 0, 0.8F, 0.1F, 0.9F, 0});  // column 4, row 2 of stride 16
  const inference::FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOX");
  const auto found = found_by(detector, file);
  ASSERT_THAT(found, SizeIs(2));
  const std::vector<Detection> expected = {{70, 16, 78, 40, 2, 0.9F}, {56, 28, 88, 44, 1, 0.72F}};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found[i].x1, expected[i].x1, 1e-3) << i;
    EXPECT_NEAR(found[i].y1, expected[i].y1, 1e-3) << i;
    EXPECT_NEAR(found[i].x2, expected[i].x2, 1e-3) << i;
    EXPECT_NEAR(found[i].y2, expected[i].y2, 1e-3) << i;
    EXPECT_EQ(found[i].label, expected[i].label) << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5) << i;
  }
}

TEST(DecodersOfWideImages, FamiliesHaveTheirOwnOverlaps) {
  const auto overlap = [](std::vector<TrialOutput> outputs) {
    return understand({.width = kImageWidth, .height = kImageHeight, .outputs = std::move(outputs)}, "m.onnx")
        .decoder->usual_iou;
  };
  EXPECT_EQ(overlap({zeros("output0", {84, kAllPlaces})}), 0.7F) << "YOLOv8";
  EXPECT_EQ(overlap({zeros("output", {3 * kAllPlaces, 85})}), 0.45F) << "YOLOv5";
  EXPECT_EQ(overlap({zeros("output", {kAllPlaces, 8})}), 0.45F) << "YOLOX";
  EXPECT_EQ(overlap({zeros("labels", {300, 1}), zeros("boxes", {300, 4}), zeros("scores", {300, 1})}), 1)
      << "lists, whose boxes were chosen already";
}

}  // namespace
}  // namespace evener::detection
