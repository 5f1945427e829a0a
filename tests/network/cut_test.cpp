// Networks divided into stages: what crosses a cut, and where cuts come to lie.
#include "network/passes/cut.h"

#include <gmock/gmock.h>

#include "base/tensor.h"
#include "base/thrown.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Layers 1 to 5, of which 2 is read by 3 and, past it and 4, by the sum 5.
Network with_skip() {
  Network network("net", {8});
  network.add("first", Linear{.out_features = 6});
  network.add("second", Linear{.out_features = 4});
  network.add("third", Linear{.out_features = 4});
  network.add("fourth", Linear{.out_features = 4});
  network.add("sum", Add{}, {2, 4});
  return network;
}

TEST(Cut, ASkipConnectionIsHandedOnFromStageToStage) {
  const std::vector<NetworkStage> stages = cut(with_skip(), std::vector{3, 4, 5});
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_THAT(stages[0].sent, ElementsAre(2));
  EXPECT_THAT(stages[1].received, ElementsAre(2));
  EXPECT_THAT(stages[1].sent, ElementsAre(2, 3));
  EXPECT_THAT(stages[2].received, ElementsAre(2, 3));
  EXPECT_THAT(stages[2].sent, ElementsAre(2, 4));
  EXPECT_THAT(stages[3].received, ElementsAre(2, 4));
  EXPECT_TRUE(stages[3].sent.empty());
  const Network& second = stages[1].network;
  EXPECT_THAT(second.inputs(), ElementsAre(0));
  EXPECT_EQ(second.outputs()[0].layer, 0);  // what was received goes on as it is
  EXPECT_EQ(second.layers()[static_cast<std::size_t>(second.outputs()[1].layer)].name, "third");
  EXPECT_THAT(stages[2].network.inputs(), ElementsAre(0, 1));
  EXPECT_EQ(stages[3].network.outputs().front().name, "output");
}

TEST(Cut, AnOutputOfAnEarlyStageReachesTheEnd) {
  Network network = with_skip();
  network.set_output("early", 1);
  network.set_output("late", 5);
  const std::vector<NetworkStage> stages = cut(network, std::vector{3, 5});
  EXPECT_THAT(stages[0].sent, ElementsAre(1, 2));
  EXPECT_THAT(stages[2].received, ElementsAre(1, 2, 4));
  EXPECT_EQ(stages[2].network.outputs()[0].name, "early");
  EXPECT_EQ(stages[2].network.outputs()[1].name, "late");
}

// Kernels join it with the batch normalisation before it, and a stage has to learn what the whole network does.
TEST(Cut, NoStageBeginsWithADepthwiseConvolution) {
  Network network("net", Shape{4, 8, 8});
  network.add("widen", Conv2d{.out_channels = 6, .kernel = 1});
  network.add("bn", BatchNorm{});
  network.add("depthwise", Conv2d{.out_channels = 6, .kernel = 3, .padding = 1, .groups = 6});
  network.add("project", Conv2d{.out_channels = 5, .kernel = 1});
  network.add("grouped", Conv2d{.out_channels = 10, .kernel = 3, .padding = 1, .groups = 5});
  const StageCosts two{{{0, 2, 2, 3, 1, 1}}, 0, {1, 1}};  // evenest before the depthwise convolution
  EXPECT_THAT(balanced_begins(network, two), ElementsAre(4));
  const StageCosts three{{{0, 1, 1, 1, 1, 1}}, 0, {1, 1, 1}};
  EXPECT_THAT(balanced_begins(network, three), ElementsAre(4, 5)) << "one filter for two results is none";
  const StageCosts four{{{0, 1, 1, 1, 1, 1}}, 0, {1, 1, 1, 1}};
  EXPECT_THAT(test::thrown_by([&] { balanced_begins(network, four); }), HasSubstr("no more than 3 stages"));
}

TEST(Cut, StagesHaveAllParametersOnceAndKeepWhatIsFrozen) {
  for (const char* model :
       {"resnet18", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "inception_resnet_v1"}) {
    SCOPED_TRACE(model);
    Network whole = build(model, {});
    const std::string first = whole.parameters().front().name;
    whole.freeze({first});
    const std::vector<int> begins =
        balanced_begins(whole, {{std::vector<double>(whole.layers().size(), 1)}, 0, {1, 1, 1}});
    std::vector<std::string> names, expected;
    std::vector<int> numbers;
    for (const NetworkStage& stage : cut(whole, begins)) {
      for (const Parameter& parameter : stage.network.parameters()) {
        names.push_back(parameter.name);
        EXPECT_EQ(parameter.trained, !parameter.buffer && parameter.name != first);
      }
      for (const Layer& layer : stage.network.layers()) {
        if (!layer.inputs.empty()) numbers.push_back(layer.number);
      }
      const std::vector<int> inputs = stage.network.inputs();
      for (std::size_t i = 0; i < stage.received.size(); ++i) {
        EXPECT_EQ(stage.network.layers()[static_cast<std::size_t>(inputs[i])].shape,
                  whole.layers()[static_cast<std::size_t>(stage.received[i])].shape);
      }
    }
    for (const Parameter& parameter : whole.parameters()) expected.push_back(parameter.name);
    EXPECT_EQ(names, expected);
    ASSERT_EQ(numbers.size() + 1, whole.layers().size());
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int>(i) + 1);
  }
}

TEST(Cut, NamesMeanTheFirstLayerOfABlock) {
  const Network network = build("resnet18", {});
  const std::vector<int> begins = begins_of(network, {"layer2", "layer4.1.conv2", "fc"});
  EXPECT_EQ(network.layers()[static_cast<std::size_t>(begins[0])].name, "layer2.0.conv1");
  EXPECT_EQ(network.layers()[static_cast<std::size_t>(begins[1])].name, "layer4.1.conv2");
  EXPECT_THAT(test::thrown_by([&] { begins_of(network, {"layr2"}); }), HasSubstr("did you mean 'layer2'"));
  EXPECT_THAT(test::thrown_by([&] { begins_of(network, {"layer3", "layer2"}); }), HasSubstr("begin with 'layer2'"));
  EXPECT_THAT(test::thrown_by([&] { begins_of(network, {"conv1"}); }), HasSubstr("no layer"));
}

TEST(Cut, RefusesStagesWithoutLayers) {
  EXPECT_THAT(test::thrown_by([] { cut(with_skip(), std::vector{1}); }), HasSubstr("stage 0"));
  EXPECT_THAT(test::thrown_by([] { cut(with_skip(), std::vector{3, 3}); }), HasSubstr("stage 1"));
  EXPECT_THAT(test::thrown_by([] { cut(with_skip(), std::vector{6}); }), HasSubstr("stage 1"));
}

/// The slowest stage of a division.
double slowest(const StageCosts& costs, const std::vector<int>& begins) {
  double most = 0;
  int from = 0;
  for (std::size_t stage = 0; stage < costs.speeds.size(); ++stage) {
    const int to = stage < begins.size() ? begins[stage] : static_cast<int>(costs.of_layers.front().size());
    double sum = 0;
    for (int i = from; i < to; ++i) sum += costs.of_layers.front()[static_cast<std::size_t>(i)];
    most = std::max(most, sum / costs.speeds[stage]);
    from = to;
  }
  return most;
}

TEST(Cut, BalancedStagesFitTheirMemoriesWhereAnyCutDoes) {
  Network network("chain", {4});
  StageCosts costs{{{0}}, 0, {1, 1}};
  for (int i = 0; i < 6; ++i) {
    network.add("linear" + std::to_string(i), Linear{.out_features = 4});
    costs.of_layers.front().push_back(1);
  }
  EXPECT_THAT(balanced_begins(network, costs), ElementsAre(4));
  costs.fits = [](std::size_t stage, int begin, int end) { return end - begin <= (stage == 0 ? 6 : 2); };
  EXPECT_THAT(balanced_begins(network, costs), ElementsAre(5)) << "the second stage has no memory for three layers";
  costs.fits = [](std::size_t, int begin, int end) { return end - begin <= 2; };
  EXPECT_THAT(balanced_begins(network, costs), ElementsAre(4)) << "none fits";
}

TEST(Cut, BalancedStagesAreTheBestOfAllCuts) {
  Network network("chain", {4});
  StageCosts costs{{{0}}, 0, {1, 0.5, 2}};
  for (int i = 0; i < 12; ++i) {
    network.add("linear" + std::to_string(i), Linear{.out_features = 4});
    costs.of_layers.front().push_back((i * 7) % 5 + 1);
  }
  double best = 1e9;
  for (int a = 2; a < 12; ++a) {
    for (int b = a + 1; b < 13; ++b) best = std::min(best, slowest(costs, {a, b}));
  }
  EXPECT_DOUBLE_EQ(slowest(costs, balanced_begins(network, costs)), best);
}

TEST(Cut, BalancedStagesGiveEachDeviceWhatItIsGoodAt) {
  Network network("chain", {4});
  for (int i = 0; i < 6; ++i) network.add("linear" + std::to_string(i), Linear{.out_features = 4});
  const StageCosts costs{{{0, 1, 1, 1, 9, 9, 9}, {0, 9, 9, 9, 1, 1, 1}}, 0, {1, 1}};
  EXPECT_THAT(balanced_begins(network, costs), ElementsAre(4));
}

TEST(Cut, BalancedStagesKeepWideValuesTogether) {
  Network network("narrow", {4});
  for (const int width : {100, 100, 2, 100, 100}) {
    network.add("linear" + std::to_string(network.layers().size()), Linear{.out_features = width});
  }
  EXPECT_THAT(balanced_begins(network, {{{0, 1, 1, 1, 1, 1}}, 1, {1, 1}}), ElementsAre(4));  // reads the 2
}

TEST(Cut, RefusesMoreStagesThanLayersToBeginWith) {
  EXPECT_THAT(test::thrown_by([] {
                balanced_begins(with_skip(), {{std::vector<double>(6, 1)}, 0, std::vector<double>(5, 1)});
              }),
              HasSubstr("no more than 4 stages, not 5"));
}

}  // namespace
}  // namespace evener::network
