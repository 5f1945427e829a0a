// How parameters learn and statistics are taken, what stages of a network take from outside, and its memory.
#include <gmock/gmock.h>

#include "base/thrown.h"
#include "network/cost.h"
#include "network/network.h"
#include "network/zoo.h"

namespace evener::network::learning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Network perceptron() {
  Network network("net", {4});
  network.add("first", Linear{.out_features = 3});
  network.add("second", Linear{.out_features = 2});
  return network;
}

std::vector<double> rates_of(const Network& network) {
  std::vector<double> rates;
  for (const Parameter& parameter : network.parameters()) rates.push_back(parameter.rate);
  return rates;
}

TEST(Learning, RatesAreThoseOfTheNamedParameters) {
  Network network = perceptron();
  EXPECT_THAT(rates_of(network), ElementsAre(1, 1, 1, 1));
  network.set_rates({"first.bias", "second.weight", "none"}, 0.25);
  EXPECT_THAT(rates_of(network), ElementsAre(1, 0.25, 0.25, 1));
  network.set_rates({"second.weight"}, 0.5);
  EXPECT_THAT(rates_of(network), ElementsAre(1, 0.25, 0.5, 1));
}

TEST(Learning, IsTakenOverByNameAndByFormerName) {
  Network other = perceptron();
  other.set_rates({"first.weight"}, 0.25);
  other.set_rates({"second.bias"}, 0.5);
  other.freeze({"second.bias", "first.bias"});
  Network network("copy", {4});
  network.add("first", Linear{.out_features = 3});
  network.add("renamed", Linear{.out_features = 2});
  network.add("further", Linear{.out_features = 5});
  network.set_rates({"further.weight"}, 0.75);
  network.learn_as(other, {{"renamed.bias", "second.bias"}, {"first.bias", "second.weight"}});
  EXPECT_THAT(rates_of(network), ElementsAre(0.25, 1, 1, 0.5, 0.75, 1));
  std::vector<bool> trained;
  for (const Parameter& parameter : network.parameters()) trained.push_back(parameter.trained);
  EXPECT_THAT(trained, ElementsAre(true, true, true, false, true, true)) << "first.bias learns as the other name";
}

Network normed() {
  Network network("net", {2, 4, 4});
  network.add("trunk.bn", BatchNorm{});
  network.add("head.bn", BatchNorm{});
  network.add("trunk.relu", Activation{});
  return network;
}

TEST(Statistics, AreFrozenByTheBeginningOfTheName) {
  Network network = normed();
  const auto frozen = [&](std::size_t layer) { return std::get<BatchNorm>(network.layers()[layer].op).frozen; };
  network.freeze_statistics("bn");
  EXPECT_FALSE(frozen(1)) << "within the name is not its beginning";
  network.freeze_statistics("trunk.");
  EXPECT_TRUE(frozen(1));
  EXPECT_FALSE(frozen(2));
  EXPECT_TRUE(has_batch_norm(network)) << "one takes statistics";
  network.freeze_statistics("");
  EXPECT_TRUE(frozen(2));
  EXPECT_FALSE(has_batch_norm(network));
}

TEST(Statistics, OfOneValueAreFoundWhereTheyAreTaken) {
  Network network("net", {2, 2, 1});
  network.add("two", BatchNorm{});
  network.add("pool", GlobalAveragePool{});
  EXPECT_EQ(norm_of_one_value(network), nullptr) << "two values of each channel, and no statistics of the pool";
  network.add("one", BatchNorm{});
  network.add("flat", Flatten{});
  network.add("vector", BatchNorm{});
  ASSERT_NE(norm_of_one_value(network), nullptr);
  EXPECT_EQ(norm_of_one_value(network)->name, "one");
  network.freeze_statistics("one");
  ASSERT_NE(norm_of_one_value(network), nullptr);
  EXPECT_EQ(norm_of_one_value(network)->name, "vector");
  network.freeze_statistics("vector");
  EXPECT_EQ(norm_of_one_value(network), nullptr);
}

TEST(StageInputs, StandBesideTheFirstAndMayBeHandedOn) {
  Network network("net", {4});
  const int first = network.add("first", Linear{.out_features = 3});
  const int further = network.add_input("further", {5});
  const int second = network.add("second", Linear{.out_features = 2}, {further});
  EXPECT_THAT(network.inputs(), ElementsAre(0, 2));
  EXPECT_EQ(network.layers()[2].shape, Shape{5});
  EXPECT_THAT((std::vector<int>{network.layers()[0].number, network.layers()[2].number, network.layers()[3].number}),
              ElementsAre(0, 2, 3));
  network.set_number(second, 17);
  EXPECT_EQ(network.layers()[3].number, 17);
  EXPECT_EQ(network.layers()[2].number, 2);

  network.set_output("result", second);
  network.hand_on("further", further);
  network.hand_on("image", 0);
  ASSERT_EQ(network.outputs().size(), 3U);
  EXPECT_EQ(network.outputs()[1].layer, further);
  EXPECT_EQ(network.outputs()[2].layer, 0);
  EXPECT_THAT(network.readers(), ElementsAre(2, 0, 2, 1)) << "layers and outputs";
  EXPECT_THAT(test::thrown_by([&] { network.hand_on("a", first); }), HasSubstr("layer 1 is to be handed on"));
  EXPECT_THAT(test::thrown_by([&] { network.hand_on("a", 4); }), HasSubstr("layer 4 is to be handed on"));
  EXPECT_THAT(test::thrown_by([&] { network.hand_on("a", -1); }), HasSubstr("layer -1 is to be handed on"));
  EXPECT_THAT(test::thrown_by([&] { network.hand_on("image", further); }), HasSubstr("'image' is taken"));
  EXPECT_THAT(test::thrown_by([&] { network.add_input("first", {1}); }), HasSubstr("'first' is taken"));
  EXPECT_THAT(test::thrown_by([&] { network.add_input("", {1}); }), HasSubstr("is empty"));
}

TEST(ReorderedBytes, AreThoseOfWeightsWhereTheGradientOfTheInputIsAConvolution) {
  Network network("net", {3, 8, 8});
  network.add("reordered", Conv2d{.out_channels = 5, .kernel = 3, .padding = 1});
  network.add("with_stride", Conv2d{.out_channels = 6, .kernel = 3, .stride = 2});
  network.add("with_bias", Conv2d{.out_channels = 7, .kernel = 2, .bias = true});
  network.add("with_groups", Conv2d{.out_channels = 7, .kernel = 2, .groups = 7});
  network.add("of_pixels", Conv2d{.out_channels = 7, .kernel = 1});
  EXPECT_EQ(reordered_bytes(network, 100, true), 5 * 3 * 9 * 4);
}

TEST(ReorderedBytes, AreTransformedForBothPassesWhereWinogradSavesMultiplications) {
  Network network("net", {64, 12, 12});
  network.add("conv", Conv2d{.out_channels = 64, .kernel = 3, .padding = 1});
  EXPECT_EQ(reordered_bytes(network, 8, true), 2 * 64 * 64 * 36 * 4);
  EXPECT_EQ(reordered_bytes(network, 4, true), 64 * 64 * 9 * 4) << "too few tiles";
  EXPECT_EQ(reordered_bytes(network, 8, false), 64 * 64 * 9 * 4);
  Network cut("tiles cut by the edge", {64, 6, 6});
  cut.add("conv", Conv2d{.out_channels = 64, .kernel = 3, .padding = 1});
  EXPECT_EQ(reordered_bytes(cut, 100, true), 64 * 64 * 9 * 4);
}

TEST(TrainingMemoryOf, TheLargestWeightIsTheLargestThatLearns) {
  Network network("net", {4});
  network.add("small", Linear{.out_features = 3});  // 12 weights
  network.add("large", Linear{.out_features = 7});  // 21
  network.add("last", Linear{.out_features = 2});   // 14
  EXPECT_EQ(training_memory(network).largest_weight_bytes, 21 * 4);
  network.freeze({"large.weight"});
  const TrainingMemory memory = training_memory(network);
  EXPECT_EQ(memory.largest_weight_bytes, 14 * 4);
  EXPECT_EQ(memory.weight_bytes, (12 + 3 + 7 + 14 + 2) * 4);
  EXPECT_EQ(memory.gradient_bytes, (12 + 3 + 7 + 14 + 2) * 4);
  EXPECT_EQ(memory.buffer_bytes, 21 * 4) << "frozen";
  EXPECT_EQ(memory.fixed_bytes(0), 2 * 38 * 4 + 21 * 4);
  EXPECT_EQ(memory.fixed_bytes(2), 4 * 38 * 4 + 21 * 4);
}

TEST(TrainingMemoryOf, TheWidestLayersGradientsAreAPartOfASamples) {
  Network network("net", {4});
  network.add("first", Linear{.out_features = 30});
  network.add("second", Linear{.out_features = 20});
  network.add("third", Linear{.out_features = 5});
  const TrainingMemory memory = training_memory(network);
  EXPECT_EQ(memory.widest_bytes, (30 + 20) * 4);
  EXPECT_EQ(memory.per_sample_bytes - memory.widest_bytes, (4 + 30 + 20) * 4) << "the inputs of the products";
}

TEST(InferenceMemoryOf, OutputsAndInputsLiveAsLongAsTheyAreRead) {
  const auto per_sample = [](bool is_output) {
    Network network("net", {10});
    const int wide = network.add("wide", Linear{.out_features = 100});
    network.add("narrow", Linear{.out_features = 3});
    const int last = network.add("last", Linear{.out_features = 200});
    network.set_output("last", last);
    if (is_output) network.set_output("wide", wide);
    return inference_memory(network).per_sample_bytes;
  };
  EXPECT_EQ(per_sample(false), (3 + 200) * 4);
  EXPECT_EQ(per_sample(true), (100 + 3 + 200) * 4) << "what is given out isn't let go";

  Network stage("stage", {10});
  const int further = stage.add_input("further", {50});
  stage.add("first", Linear{.out_features = 20}, {0});
  stage.add("second", Linear{.out_features = 30}, {further});
  EXPECT_EQ(inference_memory(stage).per_sample_bytes, (50 + 20 + 30) * 4) << "the second image, still to be read";

  Network normed_network("net", {2, 3, 3});
  normed_network.add("bn", BatchNorm{});
  EXPECT_EQ(inference_memory(normed_network).weight_bytes, (2 + 2 + 2 + 2 + 1) * 4) << "with its statistics";
}

TEST(SeesWholePictures, IsSaidOfEachModel) {
  std::vector<std::string> middle;
  for (const ModelInfo& model : known_models()) {
    if (!sees_whole_pictures(model.name)) middle.push_back(model.name);
  }
  EXPECT_THAT(middle,
              ElementsAre("efficientnet_b0", "mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet34", "resnet50"));
  EXPECT_FALSE(sees_whole_pictures("resnet200"));
  EXPECT_FALSE(sees_whole_pictures("ml"));
  EXPECT_TRUE(sees_whole_pictures("mlp"));
}

}  // namespace
}  // namespace evener::network::learning
