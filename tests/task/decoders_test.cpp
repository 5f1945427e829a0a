// Boxes from the outputs of anybody's detectors, against arithmetic by hand; and how families are told apart.
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "task/detect/decoders/understand.h"

namespace evener::task {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSide = 64;    // of images: places of strides 8, 16 and 32 are 64, 16 and 4
constexpr std::int64_t kPlaces = 84;  // of them all

/// A table of that shape with zeros.
TrialOutput table(const std::string& name, std::vector<std::int64_t> shape, float value = 0) {
  TrialOutput output{.name = name, .type = "f32", .shape = std::move(shape), .values = {}};
  std::int64_t count = 1;
  for (const std::int64_t extent : output.shape) count *= extent;
  output.values.assign(static_cast<std::size_t>(count), value);
  return output;
}

DetectorFile file_of(std::vector<TrialOutput> outputs) {
  return {.width = kSide, .height = kSide, .outputs = std::move(outputs)};
}

std::vector<Detection> decoded(const FileHabits& detector, const DetectorFile& file,
                               const DecodeOptions& options = {}) {
  ImageOutputs outputs;
  for (const TrialOutput& output : file.outputs) outputs[output.name] = output.values;
  return detector.decoder->found(outputs, options, 1);
}

void expect_box(const Detection& box, const std::vector<float>& corners, std::int32_t label, float score) {
  EXPECT_NEAR(box.x1, corners[0], 1e-3F);
  EXPECT_NEAR(box.y1, corners[1], 1e-3F);
  EXPECT_NEAR(box.x2, corners[2], 1e-3F);
  EXPECT_NEAR(box.y2, corners[3], 1e-3F);
  EXPECT_EQ(box.label, label);
  EXPECT_NEAR(box.score, score, 1e-5F);
}

/// The middle of a place of the grids, and its stride.
struct GridPlace {
  float x, y, stride;
};
GridPlace grid_place(std::size_t index) {
  if (index < 64) return {static_cast<float>(index % 8), static_cast<float>(index / 8), 8};
  if (index < 80) return {static_cast<float>((index - 64) % 4), static_cast<float>((index - 64) / 4), 16};
  return {static_cast<float>((index - 80) % 2), static_cast<float>((index - 80) / 2), 32};
}

TEST(Decoders, YoloxDecodesOffsetsFromItsGrids) {
  DetectorFile file = file_of({table("output", {kPlaces, 8})});  // three classes
  // Place 64 + 5: column 1, row 1 of stride 16.
  float* const row = &file.outputs.front().values[(64 + 5) * 8];
  row[0] = 0.5F, row[1] = 0.25F, row[2] = std::log(2.0F), row[3] = 0;
  row[4] = 0.8F, row[5] = 0.1F, row[6] = 0.9F, row[7] = 0.3F;
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOX");
  EXPECT_EQ(detector.normalization, "pixels");
  EXPECT_TRUE(detector.reverse_channels);
  EXPECT_EQ(detector.crop, data::CropMode::kYolox);
  EXPECT_THAT(detector.classes, testing::ElementsAre("class 0", "class 1", "class 2"));
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {24 - 16, 20 - 8, 24 + 16, 20 + 8}, 1, 0.72F);
  EXPECT_THAT(decoded(detector, file, {.confidence = 0.73F}), IsEmpty());
  EXPECT_THAT(decoded(detector, file, {.labels = {0, 2}}), IsEmpty());
}

/// A YOLOX whose boxes were decoded by the file: in pixels, or as shares of the image.
DetectorFile decoded_yolox(float unit) {
  DetectorFile file = file_of({table("output", {kPlaces, 6})});
  for (std::size_t i = 0; i < kPlaces; ++i) {
    const GridPlace at = grid_place(i);
    float* const row = &file.outputs.front().values[i * 6];
    row[0] = (at.x + 0.5F) * at.stride * unit, row[1] = (at.y + 0.5F) * at.stride * unit;
    row[2] = row[3] = 10 * unit;
    row[4] = i == 0 ? 0.9F : 0.01F;
    row[5] = 1;
  }
  return file;
}

TEST(Decoders, BoxesThatFollowTheirPlacesAreDecodedAlready) {
  for (const float unit : {1.0F, 1.0F / kSide}) {
    const DetectorFile file = decoded_yolox(unit);
    const FileHabits detector = understand(file, "m.onnx");
    EXPECT_EQ(detector.family, "YOLOX");
    const auto found = decoded(detector, file);
    ASSERT_THAT(found, SizeIs(1)) << unit;
    expect_box(found[0], {-1, -1, 9, 9}, 0, 0.9F);
  }
}

TEST(Decoders, AnObjectnessThatIsAlwaysOneIsYolov6) {
  DetectorFile file = decoded_yolox(1);
  for (std::size_t i = 0; i < kPlaces; ++i) {
    file.outputs.front().values[i * 6 + 4] = 1;
    file.outputs.front().values[i * 6 + 5] = i == 3 ? 0.5F : 0;
  }
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOv6");
  EXPECT_FALSE(detector.reverse_channels);
  EXPECT_EQ(detector.normalization, "0/1");
  EXPECT_THAT(decoded(detector, file), SizeIs(1));
  file.wanted = "yolox";
  EXPECT_EQ(understand(file, "m.onnx").family, "YOLOX") << "--decoder overrules";
}

TEST(Decoders, Yolov8IsTransposedAndHasNoObjectness) {
  for (const float unit : {1.0F, 1.0F / kSide}) {
    DetectorFile file = file_of({table("output0", {4 + 80, kPlaces})});
    auto& values = file.outputs.front().values;
    const auto set = [&](std::size_t row, std::size_t place, float value) { values[row * kPlaces + place] = value; };
    for (const std::size_t place : {7, 9}) {  // nearly the same box twice
      set(0, place, 30 * unit), set(1, place, 20 * unit), set(2, place, 20 * unit), set(3, place, 10 * unit);
      set(4 + 16, place, place == 7 ? 0.6F : 0.7F);
      set(4 + 3, place, 0.5F);
    }
    const FileHabits detector = understand(file, "m.onnx");
    EXPECT_EQ(detector.family, "YOLOv8");
    EXPECT_EQ(detector.crop, data::CropMode::kYolo);
    EXPECT_EQ(detector.named_by, "COCO");
    EXPECT_EQ(detector.classes.at(16), "dog");
    const auto found = decoded(detector, file);
    ASSERT_THAT(found, SizeIs(1));
    expect_box(found[0], {20, 15, 40, 25}, 16, 0.7F);
    EXPECT_THAT(decoded(detector, file, {.iou = 1}), SizeIs(2)) << "NMS kept one of them";
  }
}

TEST(Decoders, Yolov8MayHaveAFourthStride) {
  DetectorFile file = file_of({table("output0", {4 + 3, kPlaces + 1})});  // a place of stride 64
  auto& values = file.outputs.front().values;
  const float column[] = {32, 40, 60, 30, 0.1F, 0.2F, 0.9F};
  for (std::size_t row = 0; row < 7; ++row) values[row * (kPlaces + 1) + kPlaces] = column[row];
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOv8");
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {2, 25, 62, 55}, 2, 0.9F);
}

TEST(Decoders, Yolov5HasThreeAnchorsAndAnObjectness) {
  DetectorFile file = file_of({table("output", {3 * kPlaces, 25})});
  float* const row = &file.outputs.front().values[100 * 25];
  row[0] = 32, row[1] = 32, row[2] = 8, row[3] = 16, row[4] = 0.5F, row[5 + 14] = 0.9F;
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOv5");
  EXPECT_EQ(detector.named_by, "VOC");
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {28, 24, 36, 40}, 14, 0.45F);
}

TEST(Decoders, RowsOfSixAreReady) {
  DetectorFile file = file_of({table("output0", {300, 6})});
  auto& values = file.outputs.front().values;
  const float rows[] = {1, 2, 11, 12, 0.9F, 2, 1, 2, 11, 12, 0.8F, 2, 5, 5, 5, 9, 0.7F, 1};
  std::ranges::copy(rows, values.begin());
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_THAT(detector.classes, SizeIs(80));
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(2)) << "without NMS; the third has no area";
  expect_box(found[0], {1, 2, 11, 12}, 2, 0.9F);
}

TEST(Decoders, ListsOfTensorFlowAreSharesWithTopFirst) {
  DetectorFile file = file_of({table("detection_boxes", {10, 4}), table("detection_classes", {10}),
                               table("detection_scores", {10}), table("num_detections", {1}, 1)});
  const float box[] = {0.25F, 0.5F, 0.5F, 1};
  std::ranges::copy(box, file.outputs[0].values.begin());
  std::ranges::copy(box, file.outputs[0].values.begin() + 4);
  file.outputs[1].values[0] = file.outputs[1].values[1] = 18;
  file.outputs[2].values[0] = file.outputs[2].values[1] = 0.75F;
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.normalization, "pixels");
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1)) << "num_detections is 1";
  expect_box(found[0], {32, 16, 64, 32}, 17, 0.75F);
  EXPECT_EQ(detector.classes.at(17), "dog") << "COCO's number 18";
  file.is_lite = true;
  EXPECT_EQ(decoded(understand(file, "m.tflite"), file).at(0).label, 18) << "numbers without a background";
}

TEST(Decoders, ListsOfOthersArePixels) {
  DetectorFile file = file_of({table("labels", {300}), table("boxes", {300, 4}), table("scores", {300})});
  file.outputs[0].type = "i64";
  file.outputs[0].values[5] = 7;
  const float box[] = {3, 4, 30, 40};
  std::ranges::copy(box, file.outputs[1].values.begin() + 20);
  file.outputs[2].values[5] = 0.6F;
  const auto found = decoded(understand(file, "m.onnx"), file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {3, 4, 30, 40}, 7, 0.6F);
}

TEST(Decoders, DetrHasSoftmaxWithNoObjectOrSigmoids) {
  for (const std::int64_t columns : {92, 91}) {
    DetectorFile file = file_of({table("logits", {100, columns}, -8), table("pred_boxes", {100, 4}, 0.5F)});
    file.outputs[0].values[static_cast<std::size_t>(3 * columns + 18)] = 2;
    if (columns == 92) file.outputs[0].values[3 * 92 + 91] = 1;
    const float box[] = {0.5F, 0.25F, 0.25F, 0.125F};
    std::ranges::copy(box, file.outputs[1].values.begin() + 12);
    const FileHabits detector = understand(file, "m.onnx");
    EXPECT_EQ(detector.family, "DETR");
    EXPECT_EQ(detector.classes.at(18), "dog");
    const auto found = decoded(detector, file);
    ASSERT_THAT(found, SizeIs(1)) << columns;
    const double rest = std::exp(2.0) + std::exp(1.0) + 90 * std::exp(-8.0);
    expect_box(found[0], {24, 12, 40, 20}, 18,
               static_cast<float>(columns == 92 ? std::exp(2.0) / rest : 1 / (1 + std::exp(-2.0))));
  }
}

TEST(Decoders, DetrOfSixClassesIsNoTableOfFinishedBoxes) {
  DetectorFile file = file_of({table("logits", {100, 6}, -8), table("pred_boxes", {100, 4}, 0.5F)});
  file.outputs[0].values[3 * 6 + 4] = 2;
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "DETR");
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].label, 4);
}

TEST(Decoders, TablesOfBoxesAndScoresMayHaveABackground) {
  DetectorFile file = file_of({table("scores", {2000, 3}), table("boxes", {2000, 4}, 0)});
  for (std::size_t i = 0; i < 2000; ++i) {
    const bool is_object = i == 9 || i == 10;
    const float scores[] = {is_object ? 0.2F : 1.0F, is_object ? 0.1F : 0.0F, is_object ? 0.7F : 0.0F};
    std::ranges::copy(scores, &file.outputs[0].values[3 * i]);
    const float box[] = {0.25F, 0.25F, 0.75F, 0.5F};
    std::ranges::copy(box, &file.outputs[1].values[4 * i]);
  }
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.classes.size(), 2U);
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1)) << "NMS";
  expect_box(found[0], {16, 16, 48, 32}, 1, 0.7F);
}

TEST(Decoders, FacesAreAClass) {
  std::vector<TrialOutput> outputs;
  for (const std::int64_t columns : {1, 4, 10}) {
    for (const std::int64_t places : {128, 32, 8}) {
      outputs.push_back(table("output" + std::to_string(outputs.size()), {places, columns}));
    }
  }
  DetectorFile file = file_of(std::move(outputs));
  file.outputs[0].values[2 * 9] = 0.9F;  // column 1, row 1 of stride 8
  for (std::size_t i = 0; i < 4; ++i) file.outputs[3].values[4 * 18 + i] = static_cast<float>(i) / 2 + 0.5F;
  const FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "SCRFD");
  EXPECT_THAT(detector.classes, testing::ElementsAre("face"));
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {4, 0, 20, 24}, 0, 0.9F);
}

TEST(Decoders, WhatFitsNothingIsToldWithItsShapes) {
  const auto why = [](const DetectorFile& file) -> std::string {
    try {
      understand(file, "m.onnx");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why(file_of({table("embedding", {7, 33})})), AllOf(HasSubstr("'embedding' 7x33"), HasSubstr("yolox")));
  EXPECT_THAT(why(file_of({table("logits", {1000})})), HasSubstr("classifiers"));
  EXPECT_THAT(why(file_of({table("masks", {21, 64, 64})})), HasSubstr("segmenters"));
  DetectorFile segmenter = file_of({table("output0", {116, kPlaces})});
  segmenter.metadata = {{"task", "segment"}};
  EXPECT_THAT(why(segmenter), HasSubstr("a segmenter"));
  DetectorFile named = file_of({table("output0", {84, kPlaces})});
  named.classes = {"cat", "dog"};
  EXPECT_THAT(why(named), HasSubstr("tells 80 classes apart, but there are 2 names"));
  DetectorFile asked = file_of({table("output0", {84, kPlaces})});
  asked.wanted = "detr";
  EXPECT_THAT(why(asked), HasSubstr("--decoder detr"));
  EXPECT_THROW(check_decoder_name("yolo"), UsageError);
}

TEST(Decoders, OutputsOfAnotherSizeAreRefused) {
  const DetectorFile file = file_of({table("output0", {84, kPlaces})});
  const FileHabits detector = understand(file, "m.onnx");
  const std::vector<float> few(83);
  EXPECT_THROW(detector.decoder->found({{"output0", few}}, {}, 1), Error);
  EXPECT_THROW(detector.decoder->found({}, {}, 1), Error);
}

TEST(Decoders, NumbersThatAreNoneGiveNoBoxes) {
  DetectorFile file = file_of({table("output0", {84, kPlaces})});
  const FileHabits detector = understand(file, "m.onnx");
  for (float& value : file.outputs.front().values) value = std::nanf("");
  EXPECT_THAT(decoded(detector, file), IsEmpty());
}

TEST(UsualNames, AreCocosAndVocs) {
  EXPECT_EQ(usual_names(80).size(), 80U);
  EXPECT_EQ(usual_names(80).at(0), "person");
  EXPECT_EQ(usual_names(80).at(79), "toothbrush");
  EXPECT_EQ(usual_names(91).size(), 91U);
  EXPECT_EQ(usual_names(91).at(90), "toothbrush");
  EXPECT_EQ(usual_names(90).at(89), "toothbrush");
  EXPECT_EQ(usual_names(91).at(13), "stop sign");
  EXPECT_EQ(usual_names(20).at(19), "tvmonitor");
  EXPECT_THAT(usual_names(79), IsEmpty());
  for (const std::string& voc : usual_names(20)) {
    const std::vector<std::string> coco = usual_names(80);
    const bool same = std::ranges::find(coco, voc) != coco.end();
    EXPECT_TRUE(same || std::ranges::find(coco, synonym_of(voc)) != coco.end()) << voc;
    if (!same) {
      EXPECT_EQ(synonym_of(synonym_of(voc)), voc);
    }
  }
}

}  // namespace
}  // namespace evener::task
