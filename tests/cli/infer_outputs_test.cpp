// evener infer with files whose outputs are classes in one way or another, or none.
#include <filesystem>
#include <fstream>

#include "base/tensor.h"
#include "base/tiny_onnx.h"
#include "cli/infer_helpers.h"
#include "data/npy.h"
#include "engine/graph_file.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

using test::ProgramResult;
using test::Words;
using test::write_tiny_onnx;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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
