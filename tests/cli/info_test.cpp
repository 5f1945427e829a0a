// evener info as a user runs it: the table and its width, the JSON, and requests that make no sense.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_program.h"

namespace evener {
namespace {

using nlohmann::json;
using test::ProgramResult;
using test::run_program;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

json info_json(std::vector<std::string> words) {
  words.insert(words.begin(), "info");
  words.insert(words.end(), {"--json", "-"});
  const ProgramResult result = run_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(InfoCommand, TableHasTheLayersTheirCostsAndTotalsWithinAHundredColumns) {
  const ProgramResult result =
      run_program({"info", "resnet34", "--size", "197x148", "--channels", "1", "--classes", "9"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("resnet34: input 1x148x197 (C, H, W), 9 outputs"));
  EXPECT_THAT(result.out, ContainsRegex("conv1 +conv2d 7x7/2 +64x74x99 +3,136 +45.94"));
  EXPECT_THAT(result.out, ContainsRegex("layer4.0.downsample.0 +conv2d 1x1/2 +512x5x7 +131,072"));
  EXPECT_THAT(result.out, ContainsRegex("total +21,283,017"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("multiply-adds"), HasSubstr("estimated")));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(InfoCommand, LongNamesAndKindsHaveTheirColumns) {
  for (const char* model : {"efficientnet_b0", "mobilenet_v3_large", "resnet50"}) {
    const ProgramResult result = run_program({"info", model});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_THAT(run_program({"info", "efficientnet_b0"}).out,
              ContainsRegex("features.2.1.drop +stochastic_depth 24x56x56 "));
}

TEST(InfoCommand, JsonHasTheSameNumbers) {
  const json info = info_json({"resnet18"});
  EXPECT_EQ(info.at("kind"), "info");
  EXPECT_EQ(info.at("model"), "resnet18");
  EXPECT_EQ(info.at("parameters"), 11689512);
  EXPECT_EQ(info.at("input"), json({3, 224, 224}));
  EXPECT_EQ(info.at("output"), json({1000}));
  EXPECT_EQ(info.at("outputs"), json::parse(R"([{"name": "output", "layer": "fc", "shape": [1000]}])"));
  EXPECT_EQ(info.at("training_memory").at("source"), "estimated");
  std::int64_t forward = 0;
  for (const json& layer : info.at("layers")) forward += layer.at("forward_flops").get<std::int64_t>();
  EXPECT_EQ(info.at("forward_flops"), forward);
  const json& sum = info.at("layers").at(10);
  EXPECT_EQ(sum.at("kind"), "add");
  EXPECT_EQ(sum.at("inputs"), json({"layer1.0.bn2", "maxpool"}));
}

TEST(InfoCommand, JsonGoesToAFileBesideTheTable) {
  const test::TemporaryFolder folder;
  const ProgramResult result = run_program({"info", "mlp:4-2", "--json", (folder / "info.json").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("linear"));
  std::ifstream file(folder / "info.json");
  EXPECT_EQ(json::parse(file).at("parameters"), 10);
}

TEST(InfoCommand, PerceptronsTakeTheChannelsThatFit) {
  EXPECT_EQ(info_json({"mlp:784-256-10"}).at("input"), json({784}));
  EXPECT_EQ(info_json({"mlp:784-256-10", "--size", "28x28"}).at("input"), json({1, 28, 28}));
  EXPECT_EQ(info_json({"mlp:3072-256-10", "--size", "32"}).at("input"), json({3, 32, 32}));
}

TEST(InfoCommand, RequestsThatMakeNoSenseExitWithTwoAndSayWhy) {
  const auto refused = [](const std::vector<std::string>& words) {
    const ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(refused({"info", "resnet43"}), HasSubstr("did you mean 'resnet34'"));
  EXPECT_THAT(refused({"info"}), HasSubstr("MODEL"));
  EXPECT_THAT(refused({"info", "mlp:784-256-10", "--size", "30x28"}), HasSubstr("--size 28x28"));
  EXPECT_THAT(refused({"info", "mlp:784-256-10", "--channels", "3"}), HasSubstr("--size"));
  EXPECT_THAT(refused({"info", "mlp:784-256-10", "--classes", "11"}), HasSubstr("11 classes"));
  for (const char* size : {"x", "28x", "x28", "0x28", "28x-1", "28x28x3", "28 x 28", "1e3x2", "99999999999x1"}) {
    EXPECT_THAT(refused({"info", "resnet18", "--size", size}), AllOf(HasSubstr(size), HasSubstr("197x148")));
  }
  EXPECT_THAT(refused({"info", "resnet18", "--channels", "0"}), HasSubstr("--channels"));
  EXPECT_THAT(refused({"info", "resnet18", "--klasses", "3"}), HasSubstr("--classes"));
}

}  // namespace
}  // namespace evener
