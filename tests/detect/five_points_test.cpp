// Decoders of networks that find faces with five points, on made-up outputs whose faces were computed by hand.
#include "detect/decoders/five_points.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace evener::detection {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kWidth = 96, kHeight = 64;  // 8 x 12, 4 x 6 and 2 x 3 places

/// Outputs of a network, all values of which begin as 0, or as `usual` in outputs of one column.
class MadeOutputs {
 public:
  void add(const std::string& name, std::int64_t rows, std::int64_t columns, float usual = 0) {
    shapes_.push_back({name, rows, columns});
    values_.emplace_back(static_cast<std::size_t>(rows * columns), usual);
  }
  /// Sets the row of an output.
  void set(const std::string& name, std::int64_t row, const std::vector<float>& values) {
    const auto i = static_cast<std::size_t>(std::ranges::find(shapes_, name, &PlaceOutput::name) - shapes_.begin());
    std::ranges::copy(values, values_.at(i).begin() + static_cast<std::ptrdiff_t>(row * shapes_[i].columns));
  }
  /// The same outputs, the first of which comes last.
  void rotate() {
    std::ranges::rotate(shapes_, shapes_.begin() + 1);
    std::ranges::rotate(values_, values_.begin() + 1);
  }

  std::optional<FivePointDecoder> decoder(std::int64_t width = kWidth, std::int64_t height = kHeight) const {
    return FivePointDecoder::recognise(shapes_, width, height);
  }
  std::vector<FivePointFace> faces(const FivePointOptions& options = {}) const {
    std::vector<const float*> values;
    for (const auto& of_output : values_) values.push_back(of_output.data());
    return decoder()->faces(values, options);
  }

 private:
  std::vector<PlaceOutput> shapes_;
  std::vector<std::vector<float>> values_;
};

/// Outputs of these names and columns at strides from 8 to `largest`: "name_8", "name_16" and so on.
MadeOutputs at_strides(const std::vector<std::pair<std::string, int>>& outputs, std::int64_t anchors = 1,
                       float usual = 0, std::int64_t largest = 32, std::int64_t pixels = kWidth * kHeight) {
  MadeOutputs made;
  for (const auto& [name, columns] : outputs) {
    for (std::int64_t stride = 8; stride <= largest; stride *= 2) {
      made.add(name + "_" + std::to_string(stride), pixels / stride / stride * anchors, columns,
               columns == 1 ? usual : 0);
    }
  }
  return made;
}

MadeOutputs scrfd_outputs(std::int64_t anchors, bool points, float usual = 0) {
  if (!points) return at_strides({{"score", 1}, {"bbox", 4}}, anchors, usual);
  return at_strides({{"score", 1}, {"bbox", 4}, {"kps", 10}}, anchors, usual);
}

MadeOutputs yunet_outputs() {
  return at_strides({{"cls", 1}, {"obj", 1}, {"bbox", 4}, {"kps", 10}});
}

constexpr std::int64_t kPriors = 2 * (8 * 12 + 4 * 6 + 2 * 3);

MadeOutputs retinaface_outputs() {
  MadeOutputs outputs;
  outputs.add("loc", kPriors, 4);
  outputs.add("conf", kPriors, 2);
  outputs.add("landms", kPriors, 10);
  return outputs;
}

void expect_box(const FivePointFace& face, float x1, float y1, float x2, float y2, float score) {
  EXPECT_FLOAT_EQ(face.x1, x1);
  EXPECT_FLOAT_EQ(face.y1, y1);
  EXPECT_FLOAT_EQ(face.x2, x2);
  EXPECT_FLOAT_EQ(face.y2, y2);
  EXPECT_FLOAT_EQ(face.score, score);
}

TEST(FivePoints, ScrfdsDistancesAreInStridesFromTheAnchor) {
  MadeOutputs outputs = scrfd_outputs(2, true);
  // Stride 16: row 2, column 3 of six, the second anchor; the anchor is at (48, 32).
  const std::int64_t row = (2 * 6 + 3) * 2 + 1;
  outputs.set("score_16", row, {0.75F});
  outputs.set("bbox_16", row, {1, 0.5F, 2, 1.5F});
  outputs.set("kps_16", row, {-0.5F, -0.25F, 1, -0.25F, 0.25F, 0.5F, -0.5F, 1, 1, 1.25F});
  for (int order = 0; order < 9; ++order, outputs.rotate()) {
    const auto faces = outputs.faces();
    ASSERT_THAT(faces, SizeIs(1)) << order;
    expect_box(faces[0], 32, 24, 80, 56, 0.75F);
    EXPECT_THAT(faces[0].points.value(), ElementsAre(40, 28, 64, 28, 52, 40, 40, 48, 64, 52));
  }
  EXPECT_EQ(outputs.decoder()->family(), FaceFamily::kScrfd);
  EXPECT_TRUE(outputs.decoder()->has_points());
}

TEST(FivePoints, ScrfdHasOneAnchorOrNoPointsToo) {
  MadeOutputs outputs = scrfd_outputs(1, false);
  outputs.set("score_32", 5, {0.5F});  // row 1, column 2
  outputs.set("bbox_32", 5, {1, 1, 0.5F, 0.5F});
  for (int order = 0; order < 6; ++order, outputs.rotate()) {
    const auto faces = outputs.faces();
    ASSERT_THAT(faces, SizeIs(1));
    expect_box(faces[0], 32, 0, 80, 48, 0.5F);
    EXPECT_FALSE(faces[0].points);
    EXPECT_FALSE(outputs.decoder()->has_points());
  }
}

TEST(FivePoints, ScrfdOfFiveStrides) {
  const MadeOutputs outputs = at_strides({{"b", 4}, {"k", 10}, {"s", 1}}, 1, 0, 128, 256 * 128);
  const auto decoder = outputs.decoder(256, 128);
  ASSERT_TRUE(decoder);
  EXPECT_EQ(decoder->family(), FaceFamily::kScrfd);
}

TEST(FivePoints, LogitsOfScoresBecomeProbabilities) {
  MadeOutputs outputs = scrfd_outputs(2, true, -8);
  outputs.set("score_8", 0, {2});
  outputs.set("bbox_8", 0, {0, 0, 1, 1});
  ASSERT_THAT(outputs.faces(), SizeIs(1));
  EXPECT_FLOAT_EQ(outputs.faces()[0].score, 1 / (1 + std::exp(-2.0F)));
  EXPECT_THAT(outputs.faces({.least_score = 0.89F}), IsEmpty());
}

TEST(FivePoints, OfFacesThatOverlapTheLikeliestStays) {
  MadeOutputs outputs = scrfd_outputs(2, true);
  // Sides of 9 and 7 pixels, counted with both ends: with the same height of 10 the overlap is 7 / 10.
  outputs.set("score_8", 0, {0.6F});
  outputs.set("bbox_8", 0, {0, 0, 0.75F, 1.125F});
  outputs.set("score_8", 1, {0.9F});
  outputs.set("bbox_8", 1, {0, 0, 1.125F, 1.125F});
  ASSERT_THAT(outputs.faces({.overlap = 0.69F}), SizeIs(1));
  EXPECT_FLOAT_EQ(outputs.faces({.overlap = 0.69F})[0].score, 0.9F);
  EXPECT_THAT(outputs.faces({.overlap = 0.71F}), SizeIs(2));
  // Without the pixel it is 6 / 9; where a pixel of the photo is a third of the image's, 6.33 / 9.33.
  EXPECT_THAT(outputs.faces({.overlap = 0.674F, .pixel = 1 / 3.0F}), SizeIs(1));
  EXPECT_THAT(outputs.faces({.overlap = 0.684F, .pixel = 1 / 3.0F}), SizeIs(2));
  EXPECT_THAT(outputs.faces({.overlap = 0.71F, .candidates = 1}), SizeIs(1));
}

TEST(FivePoints, WhatIsNoNumberOrNoBoxIsLeftOut) {
  MadeOutputs outputs = scrfd_outputs(2, true);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> boxes = {
      {nan, 0, 1, 1}, {0, 0, infinite, 1}, {0, 0, 0, 0}, {-1, 0, 0.5F, 1}, {0, 0, 1e7F, 1}};
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    outputs.set("score_8", static_cast<std::int64_t>(10 * i), {0.9F});
    outputs.set("bbox_8", static_cast<std::int64_t>(10 * i), boxes[i]);
  }
  EXPECT_THAT(outputs.faces(), IsEmpty());
  outputs.set("score_8", 60, {nan});
  outputs.set("bbox_8", 60, {1, 1, 1, 1});
  EXPECT_THAT(outputs.faces(), IsEmpty());
}

TEST(FivePoints, YunetsScoreIsTheRootOfTwo) {
  MadeOutputs outputs = yunet_outputs();
  const std::int64_t row = 3 * 12 + 5;  // stride 8: row 3, column 5
  outputs.set("cls_8", row, {0.81F});
  outputs.set("obj_8", row, {1.5F});  // no more than 1 counts
  outputs.set("bbox_8", row, {0.5F, 0.25F, std::log(2.0F), std::log(3.0F)});
  outputs.set("kps_8", row, {0, 0, 1, 0, 0.5F, 0.5F, 0, 1, 1, 1});
  for (int order = 0; order < 12; ++order, outputs.rotate()) {
    const auto faces = outputs.faces();
    ASSERT_THAT(faces, SizeIs(1)) << order;
    expect_box(faces[0], 36, 14, 52, 38, 0.9F);
    EXPECT_THAT(faces[0].points.value(), ElementsAre(40, 24, 48, 24, 44, 28, 40, 32, 48, 32));
  }
  EXPECT_EQ(outputs.decoder()->family(), FaceFamily::kYunet);
}

// As OpenCV does: corners and extents are cut to whole pixels first.
TEST(FivePoints, YunetsBoxesOverlapInWholePixels) {
  MadeOutputs outputs = yunet_outputs();
  for (const auto& [row, width, score] : {std::tuple{0, 3.9F, 0.9F}, std::tuple{1, 4.1F, 0.95F}}) {
    outputs.set("cls_32", row, {score});
    outputs.set("obj_32", row, {score});
    // Both have their left upper corner at (10, 10).
    const float middle = (10 + width / 2) / 32 - static_cast<float>(row);
    outputs.set("bbox_32", row, {middle, 11.0F / 32, std::log(width / 32), std::log(2.0F / 32)});
  }
  // Widths of 3 and 4 whole pixels overlap by 3/4, and not by 3.9 / 4.1.
  EXPECT_THAT(outputs.faces({.overlap = 0.76F}), SizeIs(2));
  EXPECT_THAT(outputs.faces({.overlap = 0.74F}), SizeIs(1));
}

TEST(FivePoints, RetinafacesOffsetsAreFromPriors) {
  MadeOutputs outputs = retinaface_outputs();
  // The second stride, row 1, column 2, its smaller prior: a square of 64 around (40, 24).
  const std::int64_t row = 2 * (8 * 12) + (1 * 6 + 2) * 2;
  outputs.set("conf", row, {0.25F, 0.75F});
  outputs.set("loc", row, {1.25F, -1.25F, 5 * std::log(0.5F), 5 * std::log(0.25F)});
  outputs.set("landms", row, {-1.25F, 0, 1.25F, 0, 0, 1.25F, -1.25F, 2.5F, 1.25F, 2.5F});
  for (int order = 0; order < 3; ++order, outputs.rotate()) {
    const auto faces = outputs.faces();
    ASSERT_THAT(faces, SizeIs(1)) << order;
    const FivePointFace& face = faces[0];  // 32 x 16 around (48, 16)
    EXPECT_NEAR(face.x1, 32, 1e-4);
    EXPECT_NEAR(face.y1, 8, 1e-4);
    EXPECT_NEAR(face.x2, 64, 1e-4);
    EXPECT_NEAR(face.y2, 24, 1e-4);
    EXPECT_FLOAT_EQ(face.score, 0.75F);
    const std::array<float, 10> expected = {32, 24, 48, 24, 40, 32, 32, 40, 48, 40};
    for (std::size_t i = 0; i < 10; ++i) EXPECT_THAT(face.points.value()[i], FloatNear(expected[i], 1e-4F)) << i;
  }
  EXPECT_EQ(outputs.decoder()->family(), FaceFamily::kRetinaface);
  outputs.set("conf", row, {1, 3});  // logits
  EXPECT_FLOAT_EQ(outputs.faces()[0].score, 1 / (1 + std::exp(-2.0F)));
}

TEST(FivePoints, OtherNetworksAreNotRecognised) {
  EXPECT_FALSE(FivePointDecoder::recognise({}, 640, 640));
  MadeOutputs yolox;
  yolox.add("output", 3549, 85);
  EXPECT_FALSE(yolox.decoder(416, 416));
  EXPECT_FALSE(scrfd_outputs(2, true).decoder(kWidth, kHeight + 32)) << "of another size";
  EXPECT_FALSE(scrfd_outputs(3, true).decoder()) << "three anchors";
  EXPECT_FALSE(yunet_outputs().decoder(0, 0));
  MadeOutputs ssd = retinaface_outputs();
  ssd.rotate();
  EXPECT_FALSE(ssd.decoder(kWidth, kHeight / 2));
}

TEST(FivePoints, OutputsWithAndWithoutABatch) {
  const auto expect = [](const PlaceOutput& output, std::int64_t rows, std::int64_t columns) {
    EXPECT_EQ(output.rows, rows);
    EXPECT_EQ(output.columns, columns);
  };
  expect(place_output("a", {1, 12800, 4}, 1), 12800, 4);
  expect(place_output("a", {12800, 4}, 1), 12800, 4);
  expect(place_output("a", {3, 80, 10}, 3), 80, 10);
  expect(place_output("a", {}, 1), 0, 0);
  expect(place_output("a", {1, 0}, 1), 0, 0);
}

}  // namespace
}  // namespace evener::detection
