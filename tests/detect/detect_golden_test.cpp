// Boxes and their quality as torchvision, pycocotools and the VOC devkit compute them
// (tests/golden/make_detection_golden.py).

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/message.h"
#include "base/paths.h"
#include "detect/decoders/anchors.h"
#include "detect/decoders/boxes.h"
#include "detect/judge/average_precision.h"

namespace evener::detection {
namespace {

using nlohmann::json;

json golden() {
  std::ifstream file(test::source_folder() / "tests/golden/detections.json");
  return json::parse(file);
}

std::vector<Detection> found_boxes(const json& rows) {
  std::vector<Detection> boxes;
  for (const json& row : rows) boxes.push_back({row[1], row[2], row[3], row[4], row[0], row[5]});
  return boxes;
}

std::vector<TrueBox> true_boxes(const json& rows) {
  std::vector<TrueBox> boxes;
  for (const json& row : rows) {
    TrueBox box;
    box.label = row[0], box.x1 = row[1], box.y1 = row[2], box.x2 = row[3], box.y2 = row[4];
    box.is_difficult = row[5], box.is_crowd = row[6];
    if (!row[7].is_null()) box.area = row[7].get<double>();
    boxes.push_back(box);
  }
  return boxes;
}

/// Images first, first + step, ... of a case.
DetectionTally tally_of(const json& scene, std::size_t first = 0, std::size_t step = 1) {
  DetectionTally tally(scene["classes"].get<std::size_t>());
  for (std::size_t i = first; i < scene["images"].size(); i += step) {
    const json& image = scene["images"][i];
    tally.add(static_cast<std::int64_t>(i), found_boxes(image["found"]), true_boxes(image["truth"]));
  }
  return tally;
}

void expect_equal(const std::optional<double>& value, const json& expected, const std::string& what) {
  ASSERT_EQ(value.has_value(), !expected.is_null()) << what;
  if (value) {
    EXPECT_NEAR(*value, expected.get<double>(), 1e-9) << what;
  }
}

void expect_equal(const CocoSummary& summary, const json& expected) {
  const std::array lines = {summary.ap,        summary.ap_50,    summary.ap_75,     summary.ap_small,
                            summary.ap_medium, summary.ap_large, summary.ar_1,      summary.ar_10,
                            summary.ar_100,    summary.ar_small, summary.ar_medium, summary.ar_large};
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    expect_equal(lines[i], expected[i], "line " + std::to_string(i) + " of COCO's summary");
  }
}

void expect_quality(const DetectionQuality& quality, const json& scene) {
  if (scene.contains("coco")) {
    expect_equal(quality.coco, scene["coco"]);
    for (std::size_t c = 0; c < quality.classes.size(); ++c) {
      expect_equal(quality.classes[c].coco, scene["coco_classes"][c], "COCO's precision");
      expect_equal(quality.classes[c].coco_50, scene["coco_50_classes"][c], "COCO's precision at 0.5");
    }
  }
  if (scene.contains("voc_2007")) {
    expect_equal(quality.voc_2007, scene["voc_2007"], "VOC 2007");
    expect_equal(quality.voc_2010, scene["voc_2010"], "VOC 2010");
    for (std::size_t c = 0; c < quality.classes.size(); ++c) {
      expect_equal(quality.classes[c].voc_2007, scene["voc_2007_classes"][c], "VOC 2007's precision");
      expect_equal(quality.classes[c].voc_2010, scene["voc_2010_classes"][c], "VOC 2010's precision");
    }
  }
}

TEST(DetectGolden, BoxesAreThoseOfTorchvision) {
  const json expected = golden()["decode"];
  std::vector<network::Anchor> anchors;
  const auto values = expected["anchors"].get<std::vector<float>>();
  for (std::size_t i = 0; i < values.size(); i += 4) {
    anchors.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
  }
  const DecodeOptions options{.confidence = expected["confidence"],
                              .iou = expected["iou"],
                              .candidates = expected["candidates"],
                              .most = expected["most"],
                              .labels = {}};
  const auto found = decode(expected["offsets"].get<std::vector<float>>(), expected["scores"].get<std::vector<float>>(),
                            anchors, expected["width"], expected["height"], options);
  const auto wanted = found_boxes(expected["found"]);
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].label, wanted[i].label) << i;
    EXPECT_NEAR(found[i].score, wanted[i].score, 1e-6) << i;  // some roundings of float32
    EXPECT_NEAR(found[i].x1, wanted[i].x1, 1e-4) << i;        // the same of up to 100 pixels
    EXPECT_NEAR(found[i].y1, wanted[i].y1, 1e-4) << i;
    EXPECT_NEAR(found[i].x2, wanted[i].x2, 1e-4) << i;
    EXPECT_NEAR(found[i].y2, wanted[i].y2, 1e-4) << i;
  }
}

TEST(DetectGolden, QualityIsThatOfPycocotoolsAndTheDevkit) {
  const json all = golden();
  for (const json& scene : all["quality"]) {
    SCOPED_TRACE(scene["name"].get<std::string>());
    expect_quality(quality_of(tally_of(scene)), scene);
  }
}

TEST(DetectGolden, PartsOfRanksComeToTheSame) {
  const json all = golden();
  for (const json& scene : all["quality"]) {
    SCOPED_TRACE(scene["name"].get<std::string>());
    DetectionTally joined(scene["classes"].get<std::size_t>());
    for (const std::size_t rank : {std::size_t{2}, std::size_t{0}, std::size_t{1}}) {
      joined.join(unpack_message<DetectionTally>(pack_message(tally_of(scene, rank, 3)), "a part"));
    }
    EXPECT_EQ(joined.images(), static_cast<std::int64_t>(scene["images"].size()));
    expect_quality(quality_of(joined), scene);
  }
}

}  // namespace
}  // namespace evener::detection
