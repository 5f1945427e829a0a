// evener infer --sort, as a user runs it.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "base/paths.h"
#include "base/tensor.h"
#include "base/test_folder.h"
#include "base/tiny_onnx.h"
#include "data/npy.h"
#include "engine/graph_file.h"
#include "infer/model/metadata.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/infer_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using test::Infer;
using test::joined;
using test::ProgramResult;
using test::Words;
using test::write_tiny_onnx;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The folder of each file below `out`.
std::map<std::string, std::string> sorted_in(const fs::path& out) {
  std::map<std::string, std::string> folders;
  for (const auto& file : fs::recursive_directory_iterator(out)) {
    const bool is_mark = file.path().filename() == ".evener-no-class";
    if (!file.is_directory() && !is_mark)
      folders[file.path().filename().string()] = file.path().parent_path().filename().string();
  }
  return folders;
}

class InferSort : public Infer {
 protected:
  ProgramResult sort(const Words& more) const {
    return infer(joined({file("run"), file("pictures"), "--sort", file("sorted"), "--format", "none"}, more));
  }
};

TEST_F(InferSort, PutsLinksIntoAFolderOfEachClassAndKeepsWhatPeoplePutRight) {
  trained();
  pictures({"1.pgm", "2.pgm", "more/2.pgm"});
  const ProgramResult first = sort({"--confidence", "0"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto folders = sorted_in(file("sorted"));
  ASSERT_EQ(folders.size(), 3U) << "two of one name have names of their own";
  EXPECT_TRUE(folders.contains("2-2.pgm"));
  const std::string found = folders.at("1.pgm");
  const fs::path link = fs::path(file("sorted")) / found / "1.pgm";
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::equivalent(link, file("pictures") + "/1.pgm"));
  EXPECT_THAT(first.out, HasSubstr("3 into " + found));

  fs::create_directories(file("sorted") + "/mine");
  fs::rename(link, file("sorted") + "/mine/1.pgm");
  pictures({"4.pgm"});
  const ProgramResult second = sort({"--confidence", "0"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("1 into " + found), HasSubstr("3 were there already")));
  EXPECT_EQ(sorted_in(file("sorted")).size(), 4U);
  EXPECT_EQ(sorted_in(file("sorted")).at("1.pgm"), "mine");
}

TEST_F(InferSort, ClassesOfSimilarNamesHaveFoldersOfTheirOwn) {
  const std::vector<std::string> classes = {"a/b", "a_b"};
  pictures({"1.pgm"});
  for (std::size_t surest = 0; surest < classes.size(); ++surest) {
    const network::Network network = network::build("mlp:600-2", {.input = network::Shape{1, 30, 20}, .classes = 2});
    TensorMap state = network::initial_state(network, 3);
    state.at("0.bias").floats()[surest] += 1000;
    const inference::ModelFacts facts{.model = "mlp:600-2",
                                      .classes = classes,
                                      .input = network::Shape{1, 30, 20},
                                      .normalization = data::ChannelStatistics{{0.5F}, {0.5F}},
                                      .normalizes_inside = false};
    weights::write_safetensors(file("model.safetensors"), state, inference::model_metadata(facts));
    const std::string out = file("sorted") + std::to_string(surest);
    const ProgramResult result =
        infer({file("model.safetensors"), file("pictures"), "--sort", out, "--format", "none"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(sorted_in(out).at("1.pgm"), surest == 0 ? "a_b-2" : "a_b");
  }
}

TEST_F(InferSort, CopiesWhereAskedAndPutsUnsurePhotosAside) {
  trained();
  pictures({"1.pgm"});
  for (int time = 0; time < 2; ++time) {
    const ProgramResult result = sort({"--sort-by", "copy", "--confidence", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(sorted_in(file("sorted")), (std::map<std::string, std::string>{{"1.pgm", "unsure"}}));
  EXPECT_FALSE(fs::is_symlink(file("sorted") + "/unsure/1.pgm"));
  EXPECT_TRUE(fs::exists(file("sorted") + "/unsure/.evener-no-class"));
}

TEST_F(InferSort, MakesACutCopyWholeAndKnowsCopiesWithNumbers) {
  trained();
  pictures({"1.pgm", "more/1.pgm", "2.pgm"});
  std::ofstream(file("pictures") + "/more/1.pgm") << "P5\n20 30\n255\n" << std::string(600, 'y');
  const Words by_copy = {"--sort-by", "copy", "--confidence", "1"};
  ASSERT_EQ(sort(by_copy).exit_code, 0);
  const fs::path unsure = file("sorted") + "/unsure";
  ASSERT_EQ(test::file_count(unsure), 4) << "1.pgm, 1-2.pgm, 2.pgm, and the mark";
  fs::resize_file(unsure / "2.pgm", 20);
  std::ofstream(unsure / "3.pgm.tmp-999999999") << "half";  // no process has that number
  const ProgramResult again = sort(by_copy);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("1 into unsure"), HasSubstr("2 were there already")));
  EXPECT_EQ(test::file_count(unsure), 4);
  EXPECT_EQ(read_file(unsure / "2.pgm"), read_file(file("pictures") + "/2.pgm"));
}

TEST_F(InferSort, AFullDiskLeavesNoHalfCopy) {
  trained();
  pictures({"1.pgm"});
  const test::SmallDisk disk("size=16k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const fs::path large = fs::path(file("pictures")) / "large.pgm";
  std::ofstream(large) << "P5 200 200 255\n" << std::string(40'000, 'x');
  const Words words = {file("run"), large, "--format", "none", "--sort", disk.path() / "sorted", "--sort-by", "copy"};
  const ProgramResult full = refused(words);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("the disk is full"), HasSubstr("large.pgm' needs 40 kB")));
  for (const auto& folder : fs::directory_iterator(disk.path() / "sorted")) EXPECT_EQ(test::file_count(folder), 0);
}

TEST_F(InferSort, RefusesWhatIsNoPhotoAndFoldersAmongThem) {
  trained();
  pictures({"1.pgm"});
  const ProgramResult random = refused({file("run"), "random:3", "--sort", file("sorted")});
  EXPECT_EQ(random.exit_code, 2);
  EXPECT_THAT(random.err, HasSubstr("'#0' is no file"));
  const ProgramResult within = refused({file("run"), file("pictures"), "--sort", file("pictures") + "/sorted"});
  EXPECT_EQ(within.exit_code, 2);
  EXPECT_THAT(within.err, HasSubstr("lies within the photos"));
  const ProgramResult alone = refused({file("run"), file("pictures"), "--sort-by", "copy"});
  EXPECT_THAT(alone.err, HasSubstr("give --sort DIR"));
  EXPECT_FALSE(fs::exists(file("sorted")));
}

TEST_F(InferSort, RefusesAFolderThatCantBeWrittenIntoBeforeAnyWork) {
  pictures({"1.pgm"});
  // /proc takes no files, from whomever; the network isn't there, and is not come to.
  for (const char* place : {"/proc", "/proc/sorted/deep"}) {
    for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--watch"}}) {
      std::vector<std::string> words = {file("none.safetensors"), file("pictures"), "--sort", place};
      words.insert(words.end(), more.begin(), more.end());
      const ProgramResult result = refused(words);
      EXPECT_EQ(result.exit_code, 1) << place;
      EXPECT_THAT(result.err,
                  AllOf(HasSubstr(std::string("--sort '") + place), HasSubstr("can't write into the folder '/proc'")));
    }
  }
}

TEST_F(InferSort, WatchGoesOnWithPhotosThatCome) {
  trained();
  pictures({"1.pgm"});
  test::RunningProgram program(
      test::program_path(),
      {"infer", file("run"), file("pictures"), "--sort", file("sorted"), "--confidence", "1", "--watch"}, options());
  EXPECT_TRUE(program.wait_for("waiting for more photos"));
  std::ofstream(fs::path(file("pictures")) / "clip.mp4") << "a video";
  EXPECT_TRUE(program.wait_for("clip.mp4' is a video, which --watch passes over"));
  pictures({"2.pgm"});
  EXPECT_TRUE(program.wait_for("2.pgm"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_in(file("sorted")).size(), 2U);
  EXPECT_EQ(refused({file("run"), file("pictures"), "--watch", "--out", file("o")}).exit_code, 2);
  EXPECT_THAT(refused({file("run"), "random:3", "--watch"}).err, HasSubstr("'random:3' is none"));
}

TEST_F(InferSort, WatchOpensItsNetworkOnce) {
  trained();
  pictures({"1.pgm"});
  test::RunningProgram program(test::program_path(), {"infer", file("run"), file("pictures"), "--watch"}, options());
  ASSERT_TRUE(program.wait_for("waiting for more photos")) << program.err();
  fs::rename(file("run"), file("gone"));
  pictures({"2.pgm"});
  EXPECT_TRUE(program.wait_for("2.pgm")) << program.err();
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 photos answered"));
}

TEST_F(InferSort, WatchWithStagesGoesOnToo) {
  trained();
  pictures({"1.pgm"});
  test::RunningProgram program(
      test::program_path(), {"infer", file("run"), file("pictures"), "--watch", "--on", "cpu/t1..cpu/t1"}, options());
  ASSERT_TRUE(program.wait_for("waiting for more photos")) << program.err();
  pictures({"2.pgm"});
  EXPECT_TRUE(program.wait_for("2.pgm")) << program.err();
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 photos answered"));
}

TEST_F(InferSort, WatchBeginsWithNothingAndComesBackToPhotosThatAreStillWritten) {
  trained();
  test::RunningProgram program(test::program_path(), {"infer", file("run"), file("pictures"), "--watch"}, options());
  ASSERT_TRUE(program.wait_for("waiting for photos")) << program.err();
  const fs::path late = fs::path(file("pictures")) / "late.pgm",
                 whole = fs::path(pictures({"whole.pgm"})) / "whole.pgm";
  EXPECT_TRUE(program.wait_for("whole.pgm"));
  const std::string bytes = read_file(whole);
  std::ofstream(late) << bytes.substr(0, 100);
  std::ofstream(fs::path(file("pictures")) / "empty.jpg") << "";
  EXPECT_TRUE(program.wait_for("late.pgm: "));
  std::ofstream(late, std::ios::app) << bytes.substr(100);
  EXPECT_TRUE(program.wait_for("1 image in "));
  pictures({"last.pgm"});
  EXPECT_TRUE(program.wait_for("last.pgm"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("3 photos answered, 1 photo could not be read"), HasSubstr("empty.jpg: ")));
}

// evener infer with files whose outputs are classes in one way or another, or none.

class InferOutputs : public test::Infer {
 protected:
  /// A picture all of whose pixels are red 200, green 100, blue 50.
  std::string orange() const {
    std::ofstream out(file("orange.ppm"), std::ios::binary);
    out << "P6\n4 4\n255\n";
    for (int pixel = 0; pixel < 16; ++pixel) out << "\xC8\x64\x32";
    return file("orange.ppm");
  }
  std::string model(const std::vector<std::int64_t>& axes) const {
    write_tiny_onnx(file("model.onnx"), {.input = {-1, 3, 4, 4}, .axes = axes});
    return file("model.onnx");
  }
  std::string names(const std::string& text) const {
    std::ofstream(file("names.txt")) << text;
    return file("names.txt");
  }
  /// An array of samples whose values count up from 0.
  std::string array(const std::vector<std::int64_t>& shape) const {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    weights::write_safetensors(file("array.safetensors"), {{"images", HostTensor::of_floats(shape, values)}}, {});
    return file("array.safetensors");
  }
  ProgramResult shown(const Words& words) const {
    const ProgramResult result = infer(test::joined(words, {"--format", "csv", "--seconds", "0"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  std::string failure(const Words& words) const {
    const ProgramResult result = refused(words);
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    return result.err;
  }
};

TEST_F(InferOutputs, NamesOfClassesAreCounted) {
  const std::string network = model({2, 3}), photo = orange();
  EXPECT_THAT(failure({network, photo, "--labels", names("background\na\nb\nc\n")}),
              AllOf(HasSubstr("names.txt"), HasSubstr("4 names for the 3 classes"), HasSubstr("'background'")));
  EXPECT_THAT(failure({network, photo, "--labels", names("a\nb\n")}), HasSubstr("2 names for the 3 classes"));
  EXPECT_THAT(shown({network, photo, "--labels",
                     names("\xEF\xBB\xBF"
                           "a\r\nb\r\nc\r\n")})
                  .out,
              HasSubstr(",1,0,a,"))
      << "without a byte order mark in the first name";
  std::ofstream(file("model.classes.txt")) << "a\nb\nc\nd\n";
  EXPECT_THAT(failure({network, photo}), AllOf(HasSubstr("model.classes.txt"), HasSubstr("4 names")));
}

TEST_F(InferOutputs, OneValueTellsTwoClassesThatAreNamed) {
  const std::string network = model({1, 2, 3}), photo = orange();
  EXPECT_THAT(failure({network, photo}), AllOf(HasSubstr("'output' of one value"), HasSubstr("--labels FILE")));
  EXPECT_THAT(failure({network, photo, "--labels", names("a\nb\nc\n")}), HasSubstr("one value for each image"));
  const Words words = {network, photo, "--labels", names("no\nyes\n"), "--normalize", "0/1"};
  EXPECT_THAT(shown(words).out, AllOf(HasSubstr(",1,1,yes,0.612"), HasSubstr(",2,0,no,0.387"))) << "a score of 0.4575";
  EXPECT_THAT(shown(test::joined(words, {"--output-type", "prob"})).out,
              AllOf(HasSubstr(",1,0,no,0.54"), HasSubstr(",2,1,yes,0.45")));
}

// A picture's three channels, of one pixel, are the scores; what ends the network says what these are.
TEST_F(InferOutputs, WhatMakesTheScoresDecidesWhetherTheyAreProbabilities) {
  const auto network_ending_in = [this](const std::string& kind, const std::string& shape) {
    test::GraphFile graph;
    int end = graph.input("f32", shape);
    const std::string broadcast = "auto_broadcast=\"numpy\"";
    if (kind == "product") {
      end = graph.node("Convolution", "opset1",
                       "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" auto_pad=\"explicit\"",
                       {end, graph.constant({1, 0, 0, 0, 1, 0, 0, 0, 1}, "3,3,1,1")});
      end = graph.node("Add", "opset1", broadcast, {end, graph.constant({0, 0, 0}, "1,3,1,1")});
    } else if (kind == "softmax") {
      end = graph.node("Softmax", "opset8", "axis=\"1\"", {end});
    } else {
      end = graph.node("Multiply", "opset1", broadcast, {end, graph.constant({1})});
    }
    graph.output(graph.converted("f32", end, "scores"));
    graph.write(file("model.xml"));
    return file("model.xml");
  };
  const auto values = [this](const std::vector<float>& pixels) {
    const auto channels = static_cast<std::int64_t>(pixels.size());
    weights::write_safetensors(file("v.safetensors"), {{"images", HostTensor::of_floats({1, channels, 1, 1}, pixels)}},
                               {});
    return file("v.safetensors");
  };
  const std::vector<float> by_chance = {0.25F, 0.7F, 0.05F}, plain = {1.2F, 4.806F, -0.4F};
  const struct {
    const char *kind, *type;
    const std::vector<float>& pixels;
    const char* told;
  } cases[] = {{"product", "auto", by_chance, "1,1,class 1,0.463"}, {"product", "prob", by_chance, "1,1,class 1,0.463"},
               {"product", "prob", plain, "1,1,class 1,0.968"},     {"product", "logit", plain, "1,1,class 1,4.806"},
               {"softmax", "auto", plain, "1,1,class 1,0.968"},     {"softmax", "prob", plain, "1,1,class 1,0.968"},
               {"softmax", "logit", plain, "1,1,class 1,0.968"},    {"other", "auto", by_chance, "1,1,class 1,0.7"},
               {"other", "prob", plain, "1,1,class 1,0.968"}};
  for (const auto& one : cases) {
    const ProgramResult result =
        shown({network_ending_in(one.kind, "1,3,1,1"), values(one.pixels), "--output-type", one.type});
    EXPECT_THAT(result.out, HasSubstr(one.told)) << one.kind << ", told as " << one.type;
    EXPECT_EQ(result.err.find("gives probabilities, not logits") != std::string::npos,
              std::string(one.kind) + one.type == "softmaxlogit")
        << result.err;
  }
  const std::string one_value = network_ending_in("other", "1,1,1,1"), labels = names("no\nyes\n");
  EXPECT_THAT(shown({one_value, values({1}), "--labels", labels}).out, HasSubstr(",1,1,yes,0.731")) << "a score of 1";
  const ProgramResult wrong = refused({one_value, values({4.806F}), "--labels", labels, "--output-type", "prob"});
  EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("4.806"), HasSubstr("--output-type prob")));
  const std::string other = network_ending_in("other", "1,3,1,1");
  const ProgramResult nan = shown({other, values({0.25F, NAN, 0.75F}), "--topk", "1"});
  EXPECT_THAT(nan.out, HasSubstr(",1,2,class 2,\n")) << "no probability";
  EXPECT_THAT(nan.err, HasSubstr("no number (NaN or infinity) for 1 image"));
}

// Its scores, which grow with the light of the picture, look like probabilities on a grey one.
TEST_F(InferOutputs, ADetectorsScoreAbove1IsAnErrorThatNamesThePhoto) {
  test::GraphFile graph;
  const std::string broadcast = "auto_broadcast=\"numpy\"";
  const int mean =
      graph.node("Convolution", "opset1",
                 "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" "
                 "auto_pad=\"explicit\"",
                 {graph.input("f32", "1,3,32,32"), graph.constant(std::vector<float>(3072, 1 / 3072.0F), "1,3,32,32")});
  const int row = graph.node("Reshape", "opset1", "special_zero=\"false\"",
                             {mean, graph.converted("i64", graph.constant({1, 1, 1}, "3"))});
  const int scores =
      graph.node("Multiply", "opset1", broadcast, {row, graph.constant({1.8F, 0.2F, 0.1F, 1.2F, 0.3F, 0.1F}, "1,3,2")});
  const int none = graph.node("Multiply", "opset1", broadcast, {row, graph.constant({0})});
  const int boxes = graph.node("Add", "opset1", broadcast,
                               {none, graph.constant({2, 3, 12, 15, 14, 6, 30, 22, 5, 20, 9, 31}, "1,3,4")});
  graph.output(graph.converted("f32", boxes, "boxes"));
  graph.output(graph.converted("f32", scores, "scores"));
  graph.write(file("model.xml"));
  const auto picture = [this](const std::string& name, int light) {
    std::ofstream(file(name), std::ios::binary) << "P5\n32 32\n255\n" << std::string(1024, static_cast<char>(light));
    return file(name);
  };
  const ProgramResult dim =
      test::run_program({"detect", file("model.xml"), picture("dim.pgm", 100), "--format", "csv"}, options());
  ASSERT_EQ(dim.exit_code, 0) << dim.err;
  EXPECT_THAT(dim.out, HasSubstr("0.70")) << "1.8 x 100 / 255";
  const ProgramResult light =
      test::run_program({"detect", file("model.xml"), picture("light.pgm", 255), "--format", "csv"}, options());
  EXPECT_EQ(light.exit_code, 1) << light.out;
  EXPECT_THAT(light.err, AllOf(HasSubstr("light.pgm"), HasSubstr("a score of 1.8"), HasSubstr("at most 1")));
}

TEST_F(InferOutputs, WhatCanNotBeClassesIsRefusedByItsShapeAndWrittenAsItIs) {
  const std::string network = model({3}), photo = orange(), out = file("raw");
  EXPECT_THAT(failure({network, photo}), AllOf(HasSubstr("'output' 3x4"), HasSubstr("--outputs raw --out DIR")));
  EXPECT_THAT(failure({network, photo, "--outputs", "raw"}), HasSubstr("--out DIR"));
  const ProgramResult result =
      infer({network, photo, photo, "--normalize", "pixels", "--outputs", "raw", "--out", out, "--seconds", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const HostTensor written = data::read_npy(out + "/output.npy");
  ASSERT_EQ(written.shape.size(), 3U);
  EXPECT_EQ(written.shape[1] * 100 + written.shape[2], 304);
  const std::vector<float> of_channels = {200, 100, 50};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(written.floats()[i], of_channels[i / 4], 0.01);
  std::ifstream files(out + "/files.txt");
  std::string line;
  EXPECT_TRUE(std::getline(files, line) && line == photo) << line;
  const ProgramResult measured = infer({network, "random:4", "--seconds", "0"});
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_THAT(measured.err, HasSubstr("tells no classes"));
  EXPECT_THAT(measured.out, Not(HasSubstr("class ")));
}

TEST_F(InferOutputs, FloatArraysAreWhatAFilesInputTakes) {
  const std::string network = model({2, 3});
  const auto told = [&](const std::vector<std::int64_t>& shape, const Words& more) {
    std::vector<std::string> lines =
        test::lines_of(shown(test::joined({network, array(shape), "--output-type", "logit"}, more)).out);
    for (std::string& line : lines) line.erase(0, line.find(',') + 1);
    lines.erase(lines.begin());
    return lines;
  };
  EXPECT_THAT(told({1, 3, 4, 4}, {}), ElementsAre("1,2,class 2,39.5", "2,1,class 1,23.5", "3,0,class 0,7.5"));
  EXPECT_THAT(told({1, 4, 4, 3}, {}), ElementsAre("1,2,class 2,24.5", "2,1,class 1,23.5", "3,0,class 0,22.5"))
      << "channels last";
  EXPECT_THAT(told({1, 3, 4, 4}, {"--normalize", "0/1", "--topk", "1"}), ElementsAre("1,2,class 2,0.154902"))
      << "pixels where a normalisation is asked for";
}

TEST_F(InferOutputs, AThousandClassesWithoutNamesAreImageNets) {
  test::GraphFile graph;
  std::vector<float> factors(1000);
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<float>(i);
  const int input = graph.input("f32", "1,1,1,1");
  const int scores =
      graph.node("Multiply", "opset1", "auto_broadcast=\"numpy\"", {input, graph.constant(factors, "1,1000,1,1")});
  graph.output(graph.converted("f32", scores, "scores"));
  graph.write(file("model.xml"));
  const ProgramResult result = shown({file("model.xml"), "random:1", "--topk", "1"});
  EXPECT_THAT(result.out, AnyOf(HasSubstr(",1,999,toilet tissue,"), HasSubstr(",1,0,tench,")));
  EXPECT_THAT(result.err, HasSubstr("ImageNet's, assumed because 'model.xml' tells 1000 apart"));
}

}  // namespace
}  // namespace evener
