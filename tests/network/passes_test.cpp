// What every pass over networks hands on of a parameter, where the quantising pass quantises, and the arithmetic of
// quantised values.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "network/passes/cut.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"
#include "network/quantization.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

/// Two convolutions, of which one has a batch-norm that is folded into it, a third one with a bias, and a head.
Network small() {
  Network network("small", {3, 8, 8});
  network.add("conv1", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1});
  network.add("bn1", BatchNorm{});
  network.add("relu", Activation{});
  network.add("conv2", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1, .bias = true});
  network.add("bn2", BatchNorm{});
  network.add("slopes", PRelu{});
  network.add("conv3", Conv2d{.out_channels = 5, .bias = true});
  network.add("average", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{.out_features = 6});
  return network;
}

/// No two parameters that learn do so alike, and some don't.
Network with_learning(Network network) {
  double rate = 0.5;
  std::vector<std::string> frozen;
  const std::vector<Parameter> parameters = network.parameters();
  for (const Parameter& parameter : parameters) {
    network.set_rates({parameter.name}, rate *= 0.75);
    if (parameter.name == "conv1.weight" || parameter.name == "bn2.bias") frozen.push_back(parameter.name);
  }
  network.freeze(frozen);
  for (const Parameter& parameter : network.parameters()) {
    // A new member doesn't compile here: give it a value above that differs from its default.
    const auto& [trained, is_rate] = static_cast<const Learning&>(parameter);
    EXPECT_NE(is_rate, Learning().rate) << parameter.name;
    EXPECT_EQ(trained, !parameter.buffer && std::ranges::find(frozen, parameter.name) == frozen.end());
  }
  return network;
}

std::map<std::string, Learning> learning(const std::vector<Network>& networks) {
  std::map<std::string, Learning> found;
  for (const Network& network : networks) {
    for (const Parameter& parameter : network.parameters())
      EXPECT_TRUE(found.emplace(parameter.name, parameter).second);
  }
  return found;
}

std::vector<Network> parts(const std::vector<NetworkStage>& stages) {
  std::vector<Network> networks;
  for (const NetworkStage& stage : stages) networks.push_back(stage.network);
  return networks;
}

TensorMap zeros(const Network& network) {
  TensorMap state;
  for (const Parameter& parameter : network.parameters()) {
    const auto count = static_cast<std::size_t>(element_count(parameter.shape));
    state.emplace(parameter.name, HostTensor::of_floats(parameter.shape, std::vector<float>(count)));
  }
  return state;
}

/// Every function of passes/ that makes networks, by name. What it makes of a network; and the parameters that aren't
/// called as they were, with what they were called.
struct Pass {
  std::function<std::vector<Network>(const Network&)> run;
  std::map<std::string, std::string> renamed = {};
};
std::multimap<std::string, Pass> passes() {
  const std::map<std::string, std::string> folded = {{"bn1.weight", "conv1.weight"}, {"bn2.weight", "conv2.weight"}};
  return {
      {"cut", {[](const Network& network) {
         return parts(cut(network, std::vector{4, 7}));
       }}},
      {"stretch", {[](const Network& network) { return std::vector{stretch(network, 2, 8).network}; }}},
      {"fold_batch_norm", {[](const Network& network) { return std::vector{fold_batch_norm(network)}; }, folded}},
      {"fold_batch_norm",
       {[](const Network& network) { return std::vector{fold_batch_norm(network, zeros(network)).network}; }, folded}},
      {"with_quantization", {[](const Network& network) {
         return std::vector{with_quantization(network, choose_quantization(network, 8, {}))};
       }}},
  };
}

TEST(Passes, EachHandsOnHowParametersLearn) {
  const Network network = with_learning(small());
  const std::map<std::string, Learning> before = learning({network});
  for (const auto& [name, pass] : passes()) {
    SCOPED_TRACE(name);
    std::size_t known = 0;
    for (const auto& [parameter, learns] : learning(pass.run(network))) {
      const auto renamed = pass.renamed.find(parameter);
      const auto found = before.find(renamed == pass.renamed.end() ? parameter : renamed->second);
      if (found == before.end()) {  // a scale, which only the quantised network has
        EXPECT_EQ(learns, Learning()) << parameter;
        continue;
      }
      EXPECT_EQ(learns, found->second) << parameter;
      ++known;
    }
    EXPECT_GE(known, 9U);
  }
}

TEST(Passes, AllAreAskedHowParametersLearn) {
  std::set<std::string> declared, asked;
  for (const auto& [name, pass] : passes()) asked.insert(name);
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / "src/network/passes")) {
    if (entry.path().extension() != ".h") continue;
    std::istringstream lines(read_file(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      // What gives out a network in any form: "Network f(", "std::vector<NetworkStage> f(".
      const std::size_t type = line.find("Network"), bracket = line.find('('), space = line.find(' ');
      const bool is_function = type < space && space < bracket && bracket != std::string::npos && line[0] != ' ';
      if (is_function) declared.insert(line.substr(space + 1, bracket - space - 1));
    }
  }
  EXPECT_EQ(declared, asked) << "a pass that isn't listed in passes(), or isn't there any more";
}

const Layer& layer(const Network& network, const std::string& name) {
  const auto found = std::ranges::find(network.layers(), name, &Layer::name);
  if (found == network.layers().end()) throw Error("no layer " + name);
  return *found;
}

/// The names of the layers that `name` reads.
std::vector<std::string> inputs_of(const Network& network, const std::string& name) {
  std::vector<std::string> names;
  for (const int input : layer(network, name).inputs) {
    names.push_back(network.layers()[static_cast<std::size_t>(input)].name);
  }
  return names;
}

/// A convolution, ReLU and pooling; two convolutions joined; a sum; a head.
Network branches() {
  Network network("branches", {3, 16, 16});
  network.add("conv", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1, .bias = true});
  const int relu = network.add("relu", Activation{});
  const int pool = network.add("pool", MaxPool{});
  const int left = network.add("left", Conv2d{.out_channels = 2, .bias = true}, {pool});
  const int left_relu = network.add("left_relu", Activation{}, {left});
  const int right = network.add("right", Conv2d{.out_channels = 2, .bias = true}, {pool});
  const int joined = network.add("joined", Concat{}, {left_relu, right});
  network.add("sum", Add{}, {joined, pool});
  network.add("average", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{.out_features = 5});
  network.set_output("trunk", relu);
  network.set_output("scores", static_cast<int>(network.layers().size()) - 1);
  return network;
}

TEST(QuantizePass, ChoosesWhatInt8KernelsRead) {
  const QuantizationScheme scheme = choose_quantization(branches(), 8, {});
  EXPECT_THAT(scheme.weight_bits,
              UnorderedElementsAre(Pair("conv", 8), Pair("left", 8), Pair("right", 8), Pair("fc", 8)));
  // Pooling by the largest, concatenation and flattening move values: what feeds them is quantised instead. Both parts
  // of the concatenation have a sign, for one of them has.
  EXPECT_THAT(scheme.activations,
              UnorderedElementsAre(Pair("input", true), Pair("relu", false), Pair("left_relu", true),
                                   Pair("right", true), Pair("sum", true), Pair("average", true)));
  EXPECT_THAT(shared_scales(branches(), scheme), ElementsAre(UnorderedElementsAre("left_relu", "right")));
}

TEST(QuantizePass, KeptLayersReadFloats) {
  const Network network = branches();
  const QuantizationScheme scheme = choose_quantization(network, 4, {"conv", "fc", "left"});
  EXPECT_THAT(scheme.weight_bits, UnorderedElementsAre(Pair("right", 4)));
  EXPECT_THAT(scheme.activations, Not(Contains(Key("input"))));
  const Network quantized = with_quantization(network, scheme);
  EXPECT_THAT(inputs_of(quantized, "pool"), ElementsAre("relu.quantized"));
  EXPECT_THAT(inputs_of(quantized, "conv"), ElementsAre("input"));
  EXPECT_THAT(inputs_of(quantized, "fc"), ElementsAre("flatten"));
  EXPECT_EQ(std::get<Conv2d>(layer(quantized, "left").op).weight_bits, 0);
  EXPECT_EQ(std::get<Conv2d>(layer(quantized, "right").op).weight_bits, 4);
  EXPECT_TRUE(choose_quantization(network, 8, {"conv", "fc", "left", "right"}).empty());
}

TEST(QuantizePass, OutputsAndParametersStay) {
  const Network network = branches();
  const Network quantized = with_quantization(network, choose_quantization(network, 8, {}));
  ASSERT_EQ(quantized.outputs().size(), 2u);
  EXPECT_EQ(quantized.layers()[static_cast<std::size_t>(quantized.outputs()[0].layer)].name, "relu");
  EXPECT_EQ(quantized.outputs()[1].name, "scores");
  std::vector<std::string> names;
  for (const Parameter& parameter : quantized.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"conv.weight", "conv.bias", "conv.weight_scale", "fc.weight_scale",
                                            "input.quantized.scale", "relu.quantized.scale"}));
}

TEST(QuantizePass, ADetectorKeepsItsAnchors) {
  const Network detector = build("ssdlite_mobilenet_v2", {.input = Shape{3, 96, 96}, .classes = 3});
  const Network folded = fold_batch_norm(detector);
  EXPECT_EQ(folded.anchors().size(), detector.anchors().size());
  EXPECT_EQ(with_quantization(folded, {}).anchors().size(), detector.anchors().size());
}

TEST(QuantizePass, AResNetIsQuantizedFromItsImagesToItsHead) {
  const Network folded = fold_batch_norm(build("resnet20", {}));
  const QuantizationScheme scheme = choose_quantization(folded, 8, {});
  EXPECT_EQ(scheme.weight_bits.size(), 20u);
  // The images, 19 ReLUs, and what the head reads. The blocks' second convolutions are computed with their sums.
  EXPECT_EQ(scheme.activations.size(), 1u + 19 + 1);
  EXPECT_EQ(std::ranges::count_if(scheme.activations, [](const auto& entry) { return entry.second; }), 1);
}

TEST(QuantizePass, OneTermOfASumIsNotRounded) {
  Network network("sums", {3, 8, 8});
  const int left = network.add("left", Conv2d{.out_channels = 4, .bias = true});
  const int right = network.add("right", Conv2d{.out_channels = 4, .bias = true}, {0});
  const int sum = network.add("sum", Add{}, {left, right});
  const int other = network.add("other", Conv2d{.out_channels = 4, .bias = true}, {sum});
  const int twice = network.add("twice", Add{}, {other, sum});
  network.add("last", Conv2d{.out_channels = 2}, {twice});
  network.add("more", Conv2d{.out_channels = 2}, {other});
  // The later of both convolutions before the first sum; none before the second, for another layer reads it too.
  EXPECT_THAT(choose_quantization(network, 8, {}).activations,
              UnorderedElementsAre(Pair("input", true), Pair("left", true), Pair("sum", true), Pair("other", true),
                                   Pair("twice", true)));
  EXPECT_THAT(choose_quantization(network, 8, {"right"}).activations, Not(Contains(Key("right"))));
}

TEST(QuantizePass, ASchemeForAnotherNetworkIsRefused) {
  QuantizationScheme scheme = choose_quantization(branches(), 8, {});
  scheme.activations["elsewhere"] = true;
  EXPECT_THROW(with_quantization(branches(), scheme), Error);
  scheme = {};
  scheme.weight_bits["relu"] = 8;
  EXPECT_THROW(with_quantization(branches(), scheme), Error);
  scheme = {};
  scheme.weight_bits["conv"] = 9;
  EXPECT_THROW(with_quantization(branches(), scheme), Error);
}

TEST(Quantization, RoundsHalvesToEvenAndStaysWithinLevels) {
  const Levels bytes = activation_levels(false), chars = activation_levels(true);
  EXPECT_EQ(quantized(1.25F, 0.5F, bytes), 2);  // 2.5
  EXPECT_EQ(quantized(1.75F, 0.5F, bytes), 4);  // 3.5
  EXPECT_EQ(quantized(-0.25F, 0.5F, chars), 0);
  EXPECT_EQ(quantized(-1.25F, 0.5F, chars), -2);
  EXPECT_EQ(quantized(-1, 0.5F, bytes), 0);
  EXPECT_EQ(quantized(1000, 0.5F, bytes), 255);
  EXPECT_EQ(quantized(-1000, 0.5F, chars), -128);
  EXPECT_EQ(quantized(-1000, 0.5F, weight_levels(8)), -127);
  EXPECT_EQ(quantized(1000, 0.5F, weight_levels(4)), 7);
  EXPECT_EQ(fake_quantized(1.3F, 0.5F, bytes), 1.5F);
}

TEST(Quantization, WeightsComeBackFromBytesAsTheyWere) {
  const HostTensor weight = HostTensor::of_floats({2, 3}, {0.1F, -0.26F, 0.3F, 5, -70, 200});
  const HostTensor scale = HostTensor::of_floats({2}, {0.1F, 1});
  const HostTensor whole = quantized_weights(weight, scale, 8);
  EXPECT_EQ(whole.dtype, DType::kI8);
  const HostTensor back = dequantized_weights(whole, scale);
  EXPECT_EQ(back.floats()[1], -3 * 0.1F);
  EXPECT_EQ(back.floats()[5], 127);
  EXPECT_EQ(quantized_weights(back, scale, 8), whole);
  EXPECT_THROW(quantized_weights(weight, HostTensor::of_floats({3}, {1, 1, 1}), 8), Error);
}

}  // namespace
}  // namespace evener::network
