// evener detect, as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/module.h"
#include "cli/run_helpers.h"
#include "cli/run_program.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/model_metadata.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using Words = test::Words;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Detect : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the engine is not built";
    // Weights that were never trained: what it finds means nothing, but is the same every time.
    const std::vector<std::string> classes = {"circle", "square", "triangle"};
    const network::Network network =
        network::build("ssdlite_mobilenet_v2", {.input = network::Shape{3, 64, 64}, .classes = 3});
    const task::ModelFacts facts{.model = "ssdlite_mobilenet_v2",
                                 .classes = classes,
                                 .input = network::Shape{3, 64, 64},
                                 .normalization = data::ChannelStatistics{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
                                 .normalizes_inside = false};
    weights::write_safetensors(file("model.safetensors"), network::initial_state(network, 3),
                               task::model_metadata(facts));
    fs::create_directories(folder_ / "photos");
    for (const char* name : {"a.pgm", "b.pgm"}) {
      std::ofstream photo(folder_ / "photos" / name, std::ios::binary);
      photo << "P5\n90 60\n255\n";
      for (int i = 0; i < 5400; ++i) photo.put(static_cast<char>(i * 7 % 251 * (name[0] - 'a' + 1)));
    }
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult detect(const Words& words) const {
    return run_program(joined({"detect", file("model.safetensors")}, words),
                       {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  }

  test::TemporaryFolder folder_;
};

TEST_F(Detect, EveryFormatTellsTheSameBoxes) {
  const Words what = {file("photos"), "--confidence", "0.2", "--max-boxes", "7"};
  const ProgramResult csv = detect(joined(what, {"--format", "csv"}));
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  const auto rows = lines_of(csv.out);
  ASSERT_EQ(rows.size(), 15U) << csv.out;
  EXPECT_EQ(rows[0], "file,class_name,score,x1,y1,x2,y2");
  std::vector<std::string> from_json = {rows[0]};
  for (const std::string& line : lines_of(detect(joined(what, {"--format", "jsonl"})).out)) {
    const json photo = json::parse(line);
    EXPECT_EQ(photo["width"], 90);
    for (const json& box : photo["detections"]) {
      EXPECT_LE(box["box"][2], 90);
      std::ostringstream row;
      row << photo["file"].get<std::string>() << ',' << box["class"].get<std::string>() << ',' << box["score"];
      for (const json& corner : box["box"]) row << ',' << corner;
      from_json.push_back(row.str());
    }
  }
  EXPECT_EQ(from_json, rows);
  const json coco = json::parse(detect(joined(what, {"--format", "coco"})).out);
  EXPECT_EQ(coco["annotations"].size(), 14U);
  EXPECT_EQ(coco["images"].size(), 2U);
  const ProgramResult table = detect(joined(what, {"--on", "2xcpu/t1", "--batch", "1"}));
  EXPECT_THAT(table.out, AllOf(HasSubstr("a.pgm  "), HasSubstr("b.pgm  ")));
  EXPECT_THAT(table.err, HasSubstr("14 boxes, 2 images with one"));
}

TEST_F(Detect, WritesFilesForEachPhoto) {
  const ProgramResult result = detect({file("photos"), "--confidence", "0.2", "--max-boxes", "3", "--classes", "square",
                                       "--out", file("run"), "--format", "voc", "--save", "--crops", file("crops")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(text_of(folder_ / "run" / "annotations" / "a.xml"), HasSubstr("<name>square</name>"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "pictures" / "b.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "crops" / "square" / "a-0.jpg"));
  EXPECT_FALSE(fs::exists(folder_ / "crops" / "circle"));
  EXPECT_EQ(lines_of(text_of(folder_ / "run" / "detections.csv")).size(), 7U);
  EXPECT_EQ(record_in(file("run"))["metrics"]["boxes"]["value"], 6);
  ASSERT_EQ(detect({file("photos"), "--out", file("yolo"), "--format", "yolo", "--confidence", "0.2"}).exit_code, 0);
  EXPECT_EQ(lines_of(text_of(folder_ / "yolo" / "classes.txt")).size(), 3U);
  EXPECT_TRUE(fs::exists(folder_ / "yolo" / "labels" / "a.txt"));
}

TEST_F(Detect, TellsHowWellWhereBoxesAreKnown) {
  const ProgramResult result = detect({"--data", "synth:shapes:12", "--part", "all", "--out", file("run")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mAP@0.5"), HasSubstr("COCO")));
  const json record = record_in(file("run"));
  EXPECT_GE(record["metrics"]["map_50"]["value"], 0);
  EXPECT_EQ(record["metrics"]["map_50"]["better"], "higher");
  EXPECT_TRUE(record["metrics"].contains("coco_ar_100"));
  const std::string metrics = text_of(folder_ / "run" / "metrics.csv");
  EXPECT_THAT(metrics, AllOf(HasSubstr("all,images,12\n"), HasSubstr("all,coco_ap_75,"), HasSubstr("square,ap_50,")));
  EXPECT_THAT(text_of(folder_ / "run" / "confusion.csv"), HasSubstr("(background)"));
  ASSERT_EQ(run_program({"report", file("run"), "--html", file("page.html")}).exit_code, 0);
  EXPECT_THAT(text_of(folder_ / "page.html"),
              AllOf(HasSubstr("finds on synth:shapes:12"), HasSubstr("The worst misses"), HasSubstr("image/jpeg")));
}

TEST_F(Detect, SaysWhatIsWrong) {
  std::ofstream(folder_ / "photos" / "broken.jpg") << "no picture";
  const ProgramResult broken = detect({file("photos")});
  EXPECT_EQ(broken.exit_code, 0) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("broken.jpg"));
  EXPECT_EQ(detect({file("photos"), "--strict"}).exit_code, 1);
  const ProgramResult classifier = run_program({"detect", "resnet18", file("photos")});
  EXPECT_EQ(classifier.exit_code, 2);
  EXPECT_THAT(classifier.err, HasSubstr("'resnet18' is no detector"));
  const ProgramResult unknown = detect({file("photos"), "--classes", "squared"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("squared"), HasSubstr("square")));
  EXPECT_THAT(detect({file("photos"), "--save"}).err, HasSubstr("--out DIR"));
  EXPECT_THAT(detect({"--data", "synth:digits:30"}).err, HasSubstr("no boxes"));
  EXPECT_THAT(detect({}).err, HasSubstr("name the photos"));
}

}  // namespace
}  // namespace evener
