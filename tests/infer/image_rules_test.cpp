// Which images commands open, how they show them, and what files beside networks and runs say of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/data/data_job.h"
#include "base/test_folder.h"
#include "detect/pictures.h"
#include "infer/export/export_job.h"
#include "infer/session/options.h"
#include "infer/sinks.h"
#include "quantize/quantization.h"
#include "record/record.h"

namespace evener::inference {
namespace {

using test::TestFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string bytes_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Images that quantising opens for a perceptron: "evaluation part/size calibration part/size".
std::string quantize_images(const std::vector<std::pair<std::string, std::string>>& given, bool calibrates) {
  InferenceRequest request;
  request.model.model = "mlp:784-10";
  request.model.width = request.model.height = 28;
  request.model.channels = 1;
  const InferenceModel network(request);
  quantization::QuantizeFlags flags;
  for (const auto& [name, word] : given) flags.options().give(name, {word});
  const quantization::QuantizeImages images = quantization::open_quantize_images(flags, network, calibrates, 1);
  const auto text = [](const detection::DetectImages& of) {
    return of.shown.samples ? of.shown.part + "/" + std::to_string(of.shown.samples->size()) : "none";
  };
  return text(images.evaluation) + " " + text(images.calibration);
}

TEST(QuantizeImagesTest, WhatIsLearntOfIsHeldApartFromWhatJudges) {
  const std::pair<std::string, std::string> digits = {"--data", "synth:digits:200"}, split = {"--split", "50/20/30"};
  EXPECT_EQ(quantize_images({digits, split}, true), "test/60 train/100");
  EXPECT_EQ(quantize_images({digits, {"--split", "60/40"}}, true), "validation/80 train/120");
  EXPECT_EQ(quantize_images({digits, split, {"--calibration-data", "synth:digits:120"}}, true), "test/60 all/120");
  EXPECT_EQ(quantize_images({digits, split}, false), "test/60 none");
}

TEST(RawOutputsTest, RowsAreThoseOfTheFilesBesideThem) {
  const TestFolder folder;
  RawOutputs raw(folder.path(), {{"a:0", {2}}, {"a/0", {1, 3}}, {".b", {1}}});
  const std::vector<float> two = {1, 2}, three = {3, 4, 5}, one = {6}, more = {7, 8};
  Prediction answer;
  answer.outputs = {{"a:0", two}, {"a/0", three}, {".b", one}};
  raw.add("x.png", answer);
  answer.outputs["a:0"] = more;
  raw.add("y\nz.png", answer);
  raw.finish();
  const std::string names = bytes_in(folder / "files.txt");
  EXPECT_EQ(std::ranges::count(names, '\n'), 2) << "a line for each row";
  EXPECT_THAT(names, testing::StartsWith("x.png\n"));
  const std::string first = bytes_in(folder / "a_0.npy"), second = bytes_in(folder / "a_0-2.npy");
  EXPECT_THAT(first, HasSubstr("'shape': (2, 1, 3,), }")) << "a/0, which comes first";
  EXPECT_THAT(second, HasSubstr("'shape': (2, 2,), }"));
  ASSERT_EQ(second.size() % 64, 16u);
  std::vector<float> values(4);
  std::memcpy(values.data(), second.data() + second.size() - 16, 16);
  EXPECT_THAT(values, ElementsAre(1, 2, 7, 8));
  EXPECT_TRUE(fs::exists(folder / "output.b.npy")) << "no hidden file";
}

/// Grey images whose pixels are their place.
class Numbered : public data::Samples {
 public:
  explicit Numbered(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}
  std::size_t size() const override { return 1; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t) const override { return "n"; }
  void read(std::size_t, std::span<std::uint8_t> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  }

 private:
  std::vector<std::int64_t> shape_;
};

TEST(SmallPictures, KeepTheirShapeUpTo104Pixels) {
  const auto shape = [](std::vector<std::int64_t> of) {
    const data::ImageShape small = small_picture(Numbered(std::move(of)), 0).shape;
    return std::vector<std::int64_t>{small.channels, small.height, small.width};
  };
  EXPECT_THAT(shape({1, 104, 50}), ElementsAre(1, 104, 50));
  EXPECT_THAT(shape({3, 104, 208}), ElementsAre(3, 52, 104));
  EXPECT_THAT(shape({1, 1040, 5}), ElementsAre(1, 104, 1)) << "a pixel at least";
  EXPECT_THAT(small_picture(Numbered({3, 1, 2}), 0).planes, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(small_picture(Numbered({1, 2, 2}), 0).planes, ElementsAre(0, 1, 2, 3));
}

TEST(SmallPictures, AMapIsOrangeOverGrey) {
  const SmallPicture picture{{3, 1, 1}, {30, 60, 120}};
  const auto drawn = [&](float share) {
    ActivationMap map;
    map.height = map.width = 1;
    map.values = {share};
    return with_map(picture, map).planes;
  };
  EXPECT_THAT(drawn(0), ElementsAre(70, 70, 70));
  EXPECT_THAT(drawn(1), ElementsAre(209, 108, 18)) << "a quarter of it is the picture";
}

TEST(RunConfigTest, TellsValuesOfItsOptionsAndItsData) {
  const TestFolder folder;
  fs::create_directories(folder / "photos");
  fs::create_directories(folder / "run");
  record::Record record;
  record.config = {{"seed", "7"},
                   {"split", "[70.0,10.0,20.0]"},
                   {"data", "\"not/there\""},
                   {"data-path", "\"" + (folder / "photos").string() + "\""},
                   {"text", "\"a\""},
                   {"none", "null"}};
  record.data.train = 5;
  record::write_record(folder / "run", record);
  const RunConfig run(folder / "run");
  EXPECT_EQ(run.get<int>("seed"), 7);
  EXPECT_THAT(run.get<std::vector<double>>("split").value(), ElementsAre(70, 10, 20));
  EXPECT_FALSE(run.get<int>("text"));
  EXPECT_FALSE(run.get<int>("none"));
  EXPECT_FALSE(run.get<int>("other"));
  EXPECT_EQ(run.data().train, 5);
  EXPECT_EQ(run.data_location(), (folder / "photos").string()) << "by its whole path, as the name names nothing here";
  fs::remove(folder / "photos");
  EXPECT_EQ(run.data_location(), "not/there");
  EXPECT_EQ(RunConfig(folder / "nothing").data_location(), "");
  nlohmann::json config = nlohmann::json::object();
  add_data_path("synth:digits", config);
  EXPECT_TRUE(config.empty());
  add_data_path((folder / "run").string(), config);
  EXPECT_EQ(config["data-path"], (folder / "run").string());
}

TEST(ModelSidecar, GivesOptionsThatWereNotGiven) {
  const TestFolder folder;
  const std::string file = (folder / "net.onnx").string();
  test::write_text(file, "");
  test::write_text(folder / "net.toml", "size = \"64x48\"\nlabels = \"names.txt\"\ncrop = \"centre\"\n");
  InferModelFlags flags;
  flags.model.read({file});
  flags.crop.read({"letterbox"});
  take_sidecar(flags);
  EXPECT_EQ(*flags.size, "64x48");
  EXPECT_EQ(*flags.labels, (folder / "names.txt").string()) << "beside the file";
  EXPECT_EQ(*flags.crop, "letterbox") << "what was given stays";
  EXPECT_EQ(flags.sidecar, folder / "net.toml");
  InferModelFlags weights;
  weights.model.read({"resnet18"});
  weights.weights.read({file});
  take_sidecar(weights);
  EXPECT_EQ(*weights.size, "64x48");
  InferModelFlags none;
  none.model.read({"resnet18"});
  take_sidecar(none);
  EXPECT_TRUE(none.sidecar.empty());
  test::write_text(folder / "net.toml", "model = \"other\"\n");
  InferModelFlags other;
  other.model.read({file});
  EXPECT_THAT(complaint([&] { take_sidecar(other); }), HasSubstr("model")) << "it doesn't say which network it is";
}

TEST(ExportFlagsTest, NameANetworkAndAFile) {
  const TestFolder folder;
  const auto checked = [](const std::vector<std::pair<std::string, std::string>>& given) {
    return complaint([&] {
      ExportFlags flags;
      for (const auto& [name, word] : given) flags.options().give(name, {word});
      flags.check();
    });
  };
  const std::string file = (folder / "n.onnx").string();
  EXPECT_EQ(checked({{"--onnx", file}}), "");
  EXPECT_THAT(checked({{"--onnx", (folder / "n.on").string()}}), HasSubstr("has to end in .onnx"));
  EXPECT_THAT(checked({{"--onnx", file}, {"--normalize", "data"}}), HasSubstr("needs training images"));
  EXPECT_EQ(checked({{"--onnx", file}, {"--normalize", "0.5/0.25"}}), "");
  test::write_text(file, "");
  EXPECT_THAT(checked({{"--onnx", file}}), HasSubstr("exists; choose another name"));
  EXPECT_EQ(checked({{"--onnx", file}, {"--overwrite", "true"}}), "");
  ExportFlags flags;
  for (const auto& [name, word] : std::vector<std::pair<std::string, std::string>>{
           {"MODEL", "resnet18"}, {"--weights", "w"}, {"--size", "64x48"}, {"--channels", "1"}, {"--classes", "7"}}) {
    flags.options().give(name, {word});
  }
  const ModelRequest request = flags.request();
  EXPECT_EQ(request.model, "resnet18");
  EXPECT_EQ(request.weights, "w");
  EXPECT_EQ(request.width, 64);
  EXPECT_EQ(request.height, 48);
  EXPECT_EQ(request.channels, 1);
  EXPECT_EQ(request.classes, 7);
  EXPECT_FALSE(ExportFlags().request().width);
}

TEST(DataInfo, CountsImagesOfEachClassAndPart) {
  const TestFolder folder;
  const std::string grey(16, 'g');
  const std::vector<std::pair<std::string, int>> classes = {{"ants", 3}, {"bees", 5}};
  for (const auto& [name, count] : classes) {
    for (int i = 0; i < count; ++i) {
      test::write_text(folder / "data" / name / (std::to_string(i) + ".pgm"),
                       "P5 4 4 255\n" + grey.substr(0, 15) + static_cast<char>(i + (name == "ants" ? 0 : 100)));
    }
  }
  test::write_text(folder / "data/bees/bad.pgm", "P5 4 4");
  app::DataInfoFlags flags;
  flags.options().give("DATA", {(folder / "data").string()});
  flags.options().give("--split", {"50/25/25"});
  measure::Observer silent;
  const Description info = app::look_at_data(flags, silent);
  EXPECT_EQ(info.json["images"], 8);
  EXPECT_EQ(info.json["per_class"]["ants"], 3);
  EXPECT_EQ(info.json["per_class"]["bees"], 5);
  EXPECT_EQ(info.json["split"]["train"].get<int>() + info.json["split"]["val"].get<int>() +
                info.json["split"]["test"].get<int>(),
            8);
  EXPECT_GT(info.json["split"]["train"].get<int>(), info.json["split"]["val"].get<int>());
  EXPECT_EQ(info.json["shape"]["width"], 4);
  ASSERT_EQ(info.json["skipped"].size(), 1u);
  EXPECT_THAT(info.json["skipped"][0]["file"].get<std::string>(), HasSubstr("bad.pgm"));
  EXPECT_TRUE(info.json["box_details"].is_null());
  EXPECT_THAT(info.text, AllOf(HasSubstr("        3 ants\n        5 bees\n"), HasSubstr("skipped   1\n")));
}

// Which boxes are drawn on the pictures of evener detect.

TEST(DetectPictures, TheLikeliestBoxLiesOnTop) {
  const detection::FoundBoxes found{
      "a.jpg", {40, 30}, {{1, 2, 9, 8, 1, 0.9F}, {2, 2, 9, 8, 0, 0.5F}, {3, 2, 9, 8, 1, 0.25F}, {4, 2, 9, 8, 0, 0.1F}}};
  std::vector<std::string> texts;
  std::vector<double> left;
  for (const detection::DrawnBox& box : detection::boxes_to_draw(found, 0.25F, {"cat", "dog"})) {
    texts.push_back(box.text);
    left.push_back(box.x1);
  }
  EXPECT_THAT(texts, ElementsAre("dog 0.25", "cat 0.50", "dog 0.90"));
  EXPECT_THAT(left, ElementsAre(3, 2, 1));
}

}  // namespace

}  // namespace evener::inference
