// Boxes from the outputs of anybody's detectors, against arithmetic by hand; and how families are told apart.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "detect/decoders/understand.h"

namespace evener::detection {
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

std::vector<Detection> decoded(const inference::FileHabits& detector, const DetectorFile& file,
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
    const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
    const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
  EXPECT_EQ(detector.family, "YOLOv8");
  const auto found = decoded(detector, file);
  ASSERT_THAT(found, SizeIs(1));
  expect_box(found[0], {2, 25, 62, 55}, 2, 0.9F);
}

TEST(Decoders, Yolov5HasThreeAnchorsAndAnObjectness) {
  DetectorFile file = file_of({table("output", {3 * kPlaces, 25})});
  float* const row = &file.outputs.front().values[100 * 25];
  row[0] = 32, row[1] = 32, row[2] = 8, row[3] = 16, row[4] = 0.5F, row[5 + 14] = 0.9F;
  const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
    const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
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
  const inference::FileHabits detector = understand(file, "m.onnx");
  const std::vector<float> few(83);
  EXPECT_THROW(detector.decoder->found({{"output0", few}}, {}, 1), Error);
  EXPECT_THROW(detector.decoder->found({}, {}, 1), Error);
}

TEST(Decoders, NumbersThatAreNoneGiveNoBoxes) {
  DetectorFile file = file_of({table("output0", {84, kPlaces})});
  const inference::FileHabits detector = understand(file, "m.onnx");
  for (float& value : file.outputs.front().values) value = std::nanf("");
  EXPECT_THAT(decoded(detector, file), IsEmpty());
}

// What is read of files that nobody knows, and what a refusal tells. Images are wider than high: x can't pass for y.

constexpr std::int64_t kWide = 96, kHigh = 64;
constexpr std::size_t kWidePlaces = 96 + 24 + 6;

using Rows = std::vector<std::vector<float>>;

/// A table whose first rows are given, the others zeros.
TrialOutput listed(const std::string& name, std::vector<std::int64_t> shape, const Rows& rows,
                   const std::string& type = "f32") {
  TrialOutput output = table(name, std::move(shape));
  output.type = type;
  auto at = output.values.begin();
  for (const auto& row : rows) at = std::ranges::copy(row, at).out;
  return output;
}

const Rows kTwoRows = {{12, 18, 28, 30, 0.9F, 0}, {39, 30, 69, 50, 0.8F, 1}};
const Rows kTwoBoxes = {{12, 18, 28, 30}, {39, 30, 69, 50}};

/// As a YOLO network gives it for plain grey: a box at each place, of the place's stride, and `others` after it; at two
/// places those of kTwoBoxes with `first` and `second` after them.
struct Grid {
  std::vector<float> others, first, second;
  std::size_t anchors = 1;
  bool transposed = false, corners = false, y_first = false;
  float unit_x = 1, unit_y = 1;
};
TrialOutput grid_table(const Grid& grid) {
  Rows rows;
  for (std::size_t stride = 8; stride <= 32; stride *= 2) {
    for (std::size_t i = 0; i < grid.anchors * (kWide / stride) * (kHigh / stride); ++i) {
      const std::size_t at = i % ((kWide / stride) * (kHigh / stride));
      const auto side = static_cast<float>(stride);
      const float x = (static_cast<float>(at % (kWide / stride)) + 0.5F) * side;
      const float y = (static_cast<float>(at / (kWide / stride)) + 0.5F) * side;
      rows.push_back({x, y, side, side});
      rows.back().insert(rows.back().end(), grid.others.begin(), grid.others.end());
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& box = kTwoBoxes[i];
    std::vector<float>& row = rows[3 + 7 * i];
    row = {(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]};
    const auto& more = i == 0 ? grid.first : grid.second;
    row.insert(row.end(), more.begin(), more.end());
  }
  for (auto& row : rows) {
    if (grid.corners) row[0] -= row[2] / 2, row[1] -= row[3] / 2, row[2] += row[0], row[3] += row[1];
    if (grid.y_first) std::swap(row[0], row[1]), std::swap(row[2], row[3]);
    row[0] *= grid.unit_x, row[2] *= grid.unit_x, row[1] *= grid.unit_y, row[3] *= grid.unit_y;
  }
  const auto count = static_cast<std::int64_t>(rows.size()), columns = std::ssize(rows.front());
  TrialOutput output = listed("output0", {count, columns}, rows);
  if (!grid.transposed) return output;
  output.shape = {columns, count};
  for (std::size_t i = 0; i < output.values.size(); ++i) output.values[i] = rows[i % rows.size()][i / rows.size()];
  return output;
}

/// YOLOv8's table of two classes with `more` values after them.
TrialOutput yolov8(const std::vector<float>& more = {}, const std::vector<float>& of_first = {},
                   std::vector<float> classes = {0.001F, 0.001F}) {
  std::vector<float> first = classes, second = classes;
  first.front() = 0.9F, second.back() = 0.8F;
  first.insert(first.end(), of_first.begin(), of_first.end());
  second.insert(second.end(), more.begin(), more.end());
  classes.insert(classes.end(), more.begin(), more.end());
  return grid_table({.others = classes, .first = first, .second = second, .transposed = true});
}

/// "cat 0.90 12,18,28,30; ..." after the family; or why it is refused.
std::string reading_of(DetectorFile file) {
  file.width = kWide, file.height = kHigh;
  try {
    const inference::FileHabits detector = understand(file, "m.onnx");
    std::string text = detector.family + ":";
    for (const Detection& box : decoded(detector, file)) {
      text += fmt::format(" {} {:.2f} {:.0f},{:.0f},{:.0f},{:.0f};",
                          detector.classes.at(static_cast<std::size_t>(box.label)), box.score, box.x1, box.y1, box.x2,
                          box.y2);
    }
    return text;
  } catch (const UsageError& error) {
    return std::string("refused: ") + error.what();
  }
}

struct ForeignFile {
  const char* what;
  DetectorFile file;
  const char* told;  // a part of reading_of()
};

const std::vector<std::string> kNames = {"cat", "dog"};
constexpr const char *kRead = ": cat 0.90 12,18,28,30; dog 0.80 39,30,69,50;",
                     *kReadUnnamed = ": class 0 0.90 12,18,28,30; class 1 0.80 39,30,69,50;";

void expect_told(const std::vector<ForeignFile>& files) {
  for (const ForeignFile& file : files) EXPECT_THAT(reading_of(file.file), HasSubstr(file.told)) << file.what;
}

TEST(ForeignDetectors, WhatYolosAreTakenFor) {
  const TrialOutput masks = table("output1", {32, 16, 24}, 0.3F);
  const std::vector<float> masks_of_one(32, 0.25F), tiny(2, 0.001F), none(32, 0);
  std::vector<float> points, no_points(51, 0);
  for (int i = 0; i < 17; ++i) points.insert(points.end(), {20.0F + static_cast<float>(i), 24, 0.9F});
  const Grid with_objects{.others = {1e-4F, 0.02F, 0.01F}, .first = {0.95F, 0.9474F, 0.01F}, .second = {1, 0, 0.8F}};
  Grid faces{.others = {1e-4F}, .first = {0.95F}, .second = {0.9F}, .anchors = 3};
  for (auto* const row : {&faces.others, &faces.first, &faces.second})
    row->insert(row->end(), 10, 21), row->push_back(0.99F);
  Grid v5 = with_objects;
  v5.anchors = 3;
  Grid corners{.others = tiny, .first = {0.9F, 0}, .second = {0, 0.8F}, .transposed = true, .corners = true};
  Grid shares{.others = tiny,
              .first = {0.9F, 0},
              .second = {0, 0.8F},
              .transposed = true,
              .unit_x = 1.0F / kWide,
              .unit_y = 1.0F / kHigh};
  Grid y_first = corners;
  y_first.corners = false, y_first.y_first = true;
  Grid strides = corners;
  strides.corners = false, strides.unit_x = strides.unit_y = 1.0F / 8;
  Grid logits{.others = {-9, -9}, .first = {2.1972F, -9}, .second = {-9, 1.3863F}, .transposed = true};
  Grid rows{.others = tiny, .first = {0.9F, 0}, .second = {0, 0.8F}};
  std::vector<float> many(80, 0.001F);
  expect_told({
      {"YOLOv8 without names", {.outputs = {yolov8()}}, "YOLOv8: class 0 0.90 12,18,28,30; class 1 0.80 39,30,69,50;"},
      {"YOLOv8", {.outputs = {yolov8()}, .classes = kNames}, kRead},
      {"names from 1", {.outputs = {yolov8()}, .classes = {"", "cat", "dog"}}, kRead},
      {"names with a gap", {.outputs = {yolov8()}, .classes = {"cat", "", "", "dog"}}, kRead},
      {"a class without a name", {.outputs = {yolov8({}, {}, {0, 0, 0})}, .classes = {"cat", "", "dog"}}, kRead},
      {"names that can't be read",
       {.outputs = {yolov8({}, {}, many)}, .names_are_unread = true},
       "YOLOv8: class 0 0.90 12,18,28,30; class 79"},
      {"COCO's", {.outputs = {yolov8({}, {}, many)}}, "YOLOv8: person 0.90 12,18,28,30; toothbrush"},
      {"other names",
       {.outputs = {yolov8()}, .classes = {"cat", "dog", "cow"}},
       "tells 2 classes apart, but there are 3 names"},
      {"shares", {.outputs = {grid_table(shares)}, .classes = kNames}, kRead},
      {"logits", {.outputs = {grid_table(logits)}, .classes = kNames}, kRead},
      {"not transposed", {.outputs = {grid_table(rows)}, .classes = kNames}, kRead},
      {"corners", {.outputs = {grid_table(corners)}, .classes = kNames}, "no middles (x, y) with extents"},
      {"y first", {.outputs = {grid_table(y_first)}, .classes = kNames}, "no middles (x, y) with extents"},
      {"strides", {.outputs = {grid_table(strides)}, .classes = kNames}, "no middles (x, y) with extents"},
      {"a segmenter", {.outputs = {yolov8(none, masks_of_one), masks}}, "'output1' holds masks"},
      {"a segmenter with the rows of 80 classes",
       {.outputs = {yolov8(none, masks_of_one, std::vector<float>(48, 0.001F)), masks}},
       "'output1' holds masks"},
      {"poses", {.outputs = {yolov8(no_points, points, {0.001F})}}, "scores of 52 classes are 0 to 36 for plain grey"},
      {"poses, asked for as boxes",
       {.outputs = {yolov8(no_points, points, {0.001F})}, .wanted = "yolov8"},
       "scores of 52 classes are 0 to 36 for plain grey"},
      {"poses that tell it",
       {.outputs = {yolov8(no_points, points, {0.001F})},
        .metadata = {{"kpt_shape", "[17, 3]"}},
        .classes = {"person"}},
       "a network for poses"},
      {"turned boxes", {.outputs = {yolov8({-0.3F}, {0.7F})}}, "scores of 3 classes are -0.3 to 0.9"},
      {"turned boxes of one angle", {.outputs = {yolov8({0.785F}, {0.785F})}}, "high at most places"},
      {"turned boxes with names", {.outputs = {yolov8({-0.3F}, {0.7F})}, .classes = kNames}, "refused"},
      {"YOLOv5", {.outputs = {grid_table(v5)}, .classes = kNames}, kRead},
      {"YOLOv5 with masks",
       {.outputs = {yolov8(none, masks_of_one), masks}, .wanted = "yolov5"},
       "isn't what --decoder yolov5 reads"},
      {"faces of YOLOv5", {.outputs = {grid_table(faces)}}, "scores of 11 classes are 0.0001 to 21 for plain grey"},
      {"boxes of YOLOX or of YOLOv8",
       {.outputs = {grid_table(with_objects)}},
       "2 classes and an objectness (--decoder yolox), or 3 classes (--decoder yolov8)"},
      {"boxes of YOLOX", {.outputs = {grid_table(with_objects)}, .wanted = "yolox"}, kReadUnnamed},
      {"boxes of YOLOX by their names", {.outputs = {grid_table(with_objects)}, .classes = kNames}, kRead},
      {"boxes of YOLOv8",
       {.outputs = {grid_table(with_objects)}, .wanted = "yolov8"},
       "YOLOv8: class 0 1.00 39,30,69,50; class 0 0.95 12,18,28,30;"},
  });
}

TEST(ForeignDetectors, WhatListsAreTakenFor) {
  const auto boxes = [](const char* name, float unit_x = 1, float unit_y = 1, bool y_first = false) {
    Rows all = kTwoBoxes;
    for (auto& box : all) {
      box = {box[0] * unit_x, box[1] * unit_y, box[2] * unit_x, box[3] * unit_y};
      if (y_first) std::swap(box[0], box[1]), std::swap(box[2], box[3]);
    }
    return listed(name, {10, 4}, all);
  };
  const auto scores = [](const char* name) { return listed(name, {10}, {{0.9F, 0.8F}}); };
  const auto classes = [](const char* name, float first, float second) {
    return listed(name, {10}, {{first, second}}, "i64");
  };
  const auto lists = [&](float first, float second) {
    return std::vector<TrialOutput>{boxes("boxes"), scores("scores"), classes("labels", first, second)};
  };
  const auto rows = [](const Rows& some, std::int64_t columns = 6) {
    return std::vector<TrialOutput>{listed("output0", {10, columns}, some)};
  };
  const auto count = [](const char* name) { return table(name, {1}, 2); };
  const float x = 1.0F / kWide, y = 1.0F / kHigh;
  const auto tensorflow = [&](float first, float second) {
    return std::vector<TrialOutput>{boxes("detection_boxes", x, y, true), classes("detection_classes", first, second),
                                    scores("detection_scores"), count("num_detections")};
  };
  auto all_of_tensorflow = tensorflow(1, 2);
  all_of_tensorflow.push_back(table("detection_multiclass_scores", {10, 3}, 0.1F));
  all_of_tensorflow.push_back(table("detection_anchor_indices", {10}, 7));
  all_of_tensorflow.push_back(table("raw_detection_boxes", {1917, 4}, 0.5F));
  all_of_tensorflow.push_back(table("raw_detection_scores", {1917, 3}, 0.1F));
  const auto plugin = [&](float unit) {
    return std::vector<TrialOutput>{count("num_dets"), boxes("det_boxes", unit, unit), scores("det_scores"),
                                    classes("det_classes", 0, 1)};
  };
  expect_told({
      {"rows", {.outputs = rows(kTwoRows), .classes = kNames}, kRead},
      {"rows of shares",
       {.outputs = rows({{12 * x, 18 * y, 28 * x, 30 * y, 0.9F, 0}, {39 * x, 30 * y, 69 * x, 50 * y, 0.8F, 1}}),
        .classes = kNames},
       kRead},
      {"rows of middles",
       {.outputs = rows({{20, 24, 16, 12, 0.9F, 0}, {54, 40, 30, 20, 0.8F, 1}}), .classes = kNames},
       "no corners (x1, y1, x2, y2), score and class"},
      {"rows that begin with the class",
       {.outputs = rows({{0, 0.9F, 12, 18, 28, 30}, {1, 0.8F, 39, 30, 69, 50}})},
       "no corners (x1, y1, x2, y2), score and class"},
      {"rows with the score last",
       {.outputs = rows({{12, 18, 28, 30, 0, 0.9F}, {39, 30, 69, 50, 1, 0.8F}})},
       "no corners (x1, y1, x2, y2), score and class"},
      {"rows of nothing", {.outputs = rows({})}, "--decoder rows takes them"},
      {"rows of nothing, asked for", {.outputs = rows({}), .wanted = "rows"}, "YOLO with its boxes ready:"},
      {"rows of nothing by Ultralytics",
       {.outputs = rows({}), .metadata = {{"stride", "32"}}},
       "YOLO with its boxes ready:"},
      {"rows of more classes than names",
       {.outputs = rows({{12, 18, 28, 30, 0.9F, 2}}), .classes = kNames},
       "have the classes 2 to 2"},
      {"rows of seven", {.outputs = rows({{0, 12, 18, 28, 30, 0, 0.9F}}, 7)}, "is no detector that is known"},
      {"labels from 0", {.outputs = lists(0, 1), .classes = kNames}, kRead},
      {"labels from 0 without names", {.outputs = lists(0, 1)}, "lists of boxes: person 0.90 12,18,28,30; bicycle"},
      {"labels from 1",
       {.outputs = lists(1, 2), .classes = kNames},
       "torchvision's detection: cat 0.90 12,18,28,30; dog"},
      {"labels after a background", {.outputs = lists(1, 2), .classes = {"__background__", "cat", "dog"}}, kRead},
      {"labels and names from 1", {.outputs = lists(1, 2), .classes = {"", "cat", "dog"}}, kRead},
      {"labels from 0, names from 1",
       {.outputs = lists(0, 1), .classes = {"", "cat", "dog"}},
       "have the classes 0 to 1"},
      {"labels from anywhere",
       {.outputs = lists(1, 1), .classes = kNames},
       "from 0 (--decoder lists) or from 1 (--decoder torchvision)"},
      {"labels from 1, asked for",
       {.outputs = lists(1, 1), .classes = kNames, .wanted = "torchvision"},
       ": cat 0.90 12,18,28,30; cat"},
      {"labels from 0, asked for",
       {.outputs = lists(1, 1), .classes = kNames, .wanted = "lists"},
       ": dog 0.90 12,18,28,30; dog"},
      {"labels from 0, asked for from 1",
       {.outputs = lists(0, 1), .classes = kNames, .wanted = "torchvision"},
       "which torchvision's detectors don't give"},
      {"more labels than names", {.outputs = lists(0, 7), .classes = kNames}, "have the classes 0 to 7"},
      {"RT-DETR",
       {.outputs = {classes("labels", 1, 1), boxes("boxes"), scores("scores")}, .classes = kNames},
       "RT-DETR: dog 0.90 12,18,28,30; dog"},
      {"lists of any names",
       {.outputs = {table("a", {10}), boxes("b"), table("c", {10})}, .wanted = "lists"},
       "neither names nor values of its lists tell"},
      {"scores above 1",
       {.outputs = {boxes("boxes"), listed("scores", {10}, {{90, 80}}), classes("labels", 0, 1)}},
       "scores, classes and corners"},
      {"lists of shares",
       {.outputs = {boxes("boxes", x, y), scores("scores"), classes("labels", 0, 1)}},
       "whether x or y comes first"},
      {"TensorFlow",
       {.outputs = tensorflow(1, 2), .classes = kNames},
       "TensorFlow's detection API: cat 0.90 12,18,28,30; dog"},
      {"TensorFlow from 0", {.outputs = tensorflow(0, 1), .classes = kNames}, kRead},
      {"TensorFlow with all boxes",
       {.outputs = all_of_tensorflow, .classes = kNames},
       "TensorFlow's detection API: cat 0.90 12,18,28,30; dog"},
      {"TensorFlow Lite",
       {.outputs = tensorflow(0, 1), .classes = {"???", "cat", "dog"}, .is_lite = true},
       "Lite's detection: cat 0.90 12,18,28,30; dog"},
      {"NMS inside", {.outputs = plugin(1), .classes = kNames}, kRead},
      {"NMS inside of shares", {.outputs = plugin(x), .classes = kNames}, "whether x or y comes first"},
      {"NMS inside that finds nothing",
       {.outputs = {table("num_dets", {1}), table("det_boxes", {10, 4}), table("det_scores", {10}),
                    table("det_classes", {10})}},
       "--decoder lists takes them"},
      {"DetectionOutput",
       {.outputs = {listed(
            "detection_out", {1, 10, 7},
            {{0, 1, 0.9F, 12 * x, 18 * y, 28 * x, 30 * y}, {0, 2, 0.8F, 39 * x, 30 * y, 69 * x, 50 * y}})},
        .classes = kNames},
       kRead},
      {"boxes with scores beside",
       {.outputs = {listed("dets", {10, 5}, {{12, 18, 28, 30, 0.9F}}), classes("labels", 0, 1)}},
       "is no detector that is known"},
  });
}

TEST(ForeignDetectors, WhatTablesOfBoxesAndScoresAreTakenFor) {
  // Boxes of a grid of 12x8 along its rows (or its columns), as shares or in pixels, as middles or corners.
  const auto boxes = [](float unit_x, float unit_y, bool y_first = false, const char* name = "boxes") {
    Rows all;
    for (int i = 0; i < 96; ++i) {
      const auto left = static_cast<float>(i % 12) * 8, top = static_cast<float>(i / 12) * 8;
      all.push_back({left * unit_x, top * unit_y, (left + 16) * unit_x, (top + 12) * unit_y});
      if (y_first) std::swap(all.back()[0], all.back()[1]), std::swap(all.back()[2], all.back()[3]);
    }
    return listed(name, {96, 4}, all);
  };
  // Of each box the same, but for box 15: from (24, 8) to (40, 20).
  const auto scores = [](const std::vector<float>& usual, const std::vector<float>& of_one) {
    Rows all(96, usual);
    all[15] = of_one;
    return listed("scores", {96, std::ssize(usual)}, all);
  };
  Rows queries(100, {0.5F, 0.5F, 0.1F, 0.1F});
  queries[15] = {32.0F / kWide, 14.0F / kHigh, 16.0F / kWide, 12.0F / kHigh};
  const TrialOutput of_queries = listed("pred_boxes", {100, 4}, queries);
  const auto logits = [](const std::vector<float>& usual, const std::vector<float>& of_one) {
    Rows all(100, usual);
    all[15] = of_one;
    return listed("logits", {100, std::ssize(usual)}, all);
  };
  Rows offsets;
  for (int i = 0; i < 96; ++i) offsets.push_back({0.1F, -0.2F, i % 2 == 0 ? -0.5F : 0.5F, -0.4F});
  const float x = 1.0F / kWide, y = 1.0F / kHigh;
  const char* const dog = ": dog 0.75 24,8,40,20;";
  const TrialOutput probabilities = scores({0.01F, 0.02F}, {0.01F, 0.75F});
  expect_told({
      {"pixels", {.outputs = {boxes(1, 1), probabilities}, .classes = kNames}, dog},
      {"shares", {.outputs = {boxes(x, y), probabilities}, .classes = kNames}, dog},
      {"y first", {.outputs = {boxes(1, 1, true), probabilities}, .classes = kNames}, "have y before x"},
      {"TensorFlow's",
       {.outputs = {boxes(x, y, false, "raw_detection_boxes"), probabilities}, .classes = kNames},
       "have y before x"},
      {"offsets",
       {.outputs = {listed("boxes", {96, 4}, offsets), probabilities}, .classes = kNames},
       "neither corners nor middles"},
      {"a background first",
       {.outputs = {boxes(x, y), scores({0.98F, 0.01F, 0.01F}, {0.15F, 0.1F, 0.75F})}, .classes = kNames},
       dog},
      {"a background last",
       {.outputs = {boxes(x, y), scores({0.01F, 0.01F, 0.98F}, {0.1F, 0.75F, 0.15F})}, .classes = kNames},
       "neither probabilities nor logits"},
      {"logits with a background",
       {.outputs = {boxes(x, y), scores({9, 1, 0}, {0, -1.9459F, 1.0986F})}, .classes = kNames},
       ": dog 0.72 24,8,40,20;"},
      {"logits", {.outputs = {boxes(x, y), scores({-7, -6}, {-5, 1.0986F})}, .classes = kNames}, dog},
      {"any numbers",
       {.outputs = {boxes(x, y), scores({3, 4}, {5, 2})}, .classes = kNames},
       "neither probabilities nor logits"},
      {"DETR",
       {.outputs = {logits({-3, -4, 5}, {-9, 1.0986F, 0}), of_queries}, .classes = kNames},
       "DETR: dog 0.75 24,8,40,20;"},
      {"DETR without names",
       {.outputs = {logits({-3, -4, 5}, {-30, 1.0986F, 0}), of_queries}},
       "DETR: class 1 0.75 24,8,40,20;"},
      {"Deformable DETR",
       {.outputs = {logits({-5, -4}, {-9, 1.0986F}), of_queries}, .classes = kNames},
       "DETR: dog 0.75 24,8,40,20;"},
      {"DETR of one more logit",
       {.outputs = {logits({-5, -4, -6}, {-9, 1.0986F, -7}), of_queries}, .classes = kNames},
       "neither probabilities nor logits"},
      {"DETR of any numbers",
       {.outputs = {logits({3, 4, 2}, {5, 2, 1}), of_queries}},
       "neither probabilities nor logits"},
  });
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
}  // namespace evener::detection
