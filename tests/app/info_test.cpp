// evener info as a user runs it: the table and its width, the JSON, and requests that make no sense.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/built_modules.h"
#include "base/tensor.h"
#include "base/tiny_onnx.h"
#include "network/init.h"
#include "network/zoo.h"
#include "record/record.h"
#include "support/in_process_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

using nlohmann::json;
using test::ProgramResult;
using test::run_in_process;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

json info_json(std::vector<std::string> words) {
  words.insert(words.begin(), "info");
  words.insert(words.end(), {"--json", "-"});
  const ProgramResult result = run_in_process(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(InfoCommand, TableHasTheLayersTheirCostsAndTotalsWithinAHundredColumns) {
  const ProgramResult result =
      run_in_process({"info", "resnet34", "--size", "197x148", "--channels", "1", "--classes", "9"});
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
    const ProgramResult result = run_in_process({"info", model});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_THAT(run_in_process({"info", "efficientnet_b0"}).out,
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
  const ProgramResult result = run_in_process({"info", "mlp:4-2", "--json", (folder / "info.json").string()});
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
    const ProgramResult result = run_in_process(words);
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

/// A file of weights of resnet20 for three classes; `told`: says so.
void write_resnet20(const std::filesystem::path& path, bool told) {
  const network::Network net = network::build("resnet20", {.input = network::Shape{3, 32, 32}, .classes = 3});
  weights::Metadata metadata;
  if (told) {
    metadata = {{"model", "resnet20"},     {"classes", R"(["bream", "shrimp", "trout"])"}, {"input", "[3,32,32]"},
                {"mean", "[0.5,0.5,0.5]"}, {"standard_deviation", "[0.25,0.25,0.25]"},     {"crop", "stretch"}};
  }
  weights::write_safetensors(path, network::initial_state(net, 1), metadata);
}

TEST(InfoCommand, ARunTellsItsNetworkClassesPreprocessingAndAccuracy) {
  const test::TemporaryFolder folder;
  write_resnet20(folder / "best.safetensors", true);
  record::Record record;
  record.model.name = "resnet20";
  record.data.location = "photos";
  record.data.val = 50;
  record.training.accuracy.val = 0.92;
  record.training.accuracy.val_epoch = 1;
  record::write_record(folder.path(), record);
  const ProgramResult result = run_in_process({"info", folder.path().string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("resnet20, "), HasSubstr("3x32x32"),
                                HasSubstr("3 classes: bream, shrimp, trout"), HasSubstr("--crop stretch"),
                                HasSubstr("mean 0.5, 0.5, 0.5"), HasSubstr("validation 92.00 % of 50 images")));
  const json info = info_json({folder.path().string()});
  EXPECT_EQ(info.at("model"), "resnet20");
  EXPECT_EQ(info.at("classes"), json({"bream", "shrimp", "trout"}));
  EXPECT_EQ(info.at("run").at("validation_accuracy"), 0.92);
  EXPECT_TRUE(info.at("run").at("test_accuracy").is_null());
  std::filesystem::remove(folder / "best.safetensors");
  EXPECT_THAT(run_in_process({"info", folder.path().string()}).out,
              AllOf(HasSubstr("resnet20\n"), HasSubstr("none in this folder"), HasSubstr("validation 92.00 %")));
}

TEST(InfoCommand, AFileOfWeightsTellsItsTensorsAndWhichNetworkTheyFit) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "some.safetensors").string();
  write_resnet20(file, false);
  const ProgramResult result = run_in_process({"info", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("doesn't say of which network"),
                                HasSubstr("resnet20 with 3 outputs: use it as 'resnet20 --weights " + file + "'"),
                                ContainsRegex("conv1.weight +16x3x3x3 +float32 +432")));
  const json info = info_json({file});
  ASSERT_EQ(info.at("fits").size(), 1);
  EXPECT_EQ(info.at("fits")[0], json({{"model", "resnet20"}, {"outputs", 3}}));
  weights::write_safetensors(file, {{"odd", HostTensor::scalar_i64(1)}}, {});
  EXPECT_THAT(run_in_process({"info", file}).out, HasSubstr("no network of the zoo"));
}

TEST(InfoCommand, AnOnnxFileTellsWhatItTakes) {
  if (!test::module_is_built("openvino")) GTEST_SKIP() << "openvino is not built";
  const test::TemporaryFolder folder;
  const std::string file = (folder / "means.onnx").string();
  test::write_tiny_onnx(file, {.input = {-1, 3, 16, 24}, .axes = {2, 3}});
  const ProgramResult result = run_in_process({"info", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("3x16x24 (C, H, W), any batch"), HasSubstr("output")));
  EXPECT_EQ(info_json({file}).at("input"), json({3, 16, 24}));
}

TEST(InfoCommand, APathThatNamesNothingIsSaidToBeMissing) {
  for (const char* path : {"/nope/x.onnx", "no/run", "x.safetensors"}) {
    const ProgramResult result = run_in_process({"info", path});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(std::string("'") + path + "' doesn't exist"));
  }
}

TEST(InfoCommand, ItAndInferNameTheSameNetworkOfAFileOfWeights) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "w.safetensors").string();
  const network::Network network = network::build("resnet20", {.input = network::Shape{1, 8, 8}, .classes = 4});
  TensorMap state;
  for (const auto& [name, tensor] : network::initial_state(network, 1))
    state.emplace("_orig_mod.model." + name, tensor);
  state.emplace("criterion.weight", HostTensor::of_floats({1}, {1}));
  weights::write_safetensors(file, state);
  const std::string use = "resnet20 --weights " + file + " --channels 1'";
  const ProgramResult info = run_in_process({"info", file});
  EXPECT_THAT(info.out, AllOf(HasSubstr("resnet20 with 4 outputs: use it as '" + use),
                              HasSubstr("under '_orig_mod.model.'"), HasSubstr("criterion.weight")));
  EXPECT_THAT(run_in_process({"infer", file, "random:1"}).err, HasSubstr("name it, as in '" + use));
}

TEST(InfoCommand, AFileWithoutTensorsAndOneOfOtherTypesAreTold) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "w.safetensors").string();
  weights::write_safetensors(file, {}, {{"format", "pt"}});
  EXPECT_THAT(run_in_process({"info", file}).out, HasSubstr("it holds no tensors"));
  const std::string header = R"({"mask":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})";
  std::ofstream out(file, std::ios::binary);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header << "\1\1\1\1";
  out.close();
  EXPECT_THAT(run_in_process({"info", file}).out, ContainsRegex("mask +4 +BOOL +4"));
  EXPECT_EQ(info_json({file}).at("tensors").at(0).at("type"), "BOOL");
}

}  // namespace
}  // namespace evener
