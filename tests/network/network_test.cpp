// Shape inference, the graph, and messages about impossible layers.
#include "network/network.h"

#include <gmock/gmock.h>

#include "base/thrown.h"

namespace evener::network {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The message of adding `op` to a network whose input is `input`.
std::string refusal(const Shape& input, const Op& op) {
  Network network("net", input);
  return test::thrown_by([&] { network.add("layer", op); });
}

Shape shape_after(const Shape& input, const Op& op) {
  Network network("net", input);
  network.add("layer", op);
  return network.output_shape();
}

TEST(Network, InfersShapes) {
  EXPECT_EQ(shape_after({784}, Linear{.out_features = 10}), (Shape{10}));
  EXPECT_EQ(shape_after({3, 224, 224}, Conv2d{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3}),
            (Shape{64, 112, 112}));
  // floor((148 + 6 - 7) / 2) + 1 and floor((197 + 6 - 7) / 2) + 1
  EXPECT_EQ(shape_after({1, 148, 197}, Conv2d{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3}),
            (Shape{64, 74, 99}));
  EXPECT_EQ(shape_after({64, 74, 99}, MaxPool{.kernel = 3, .stride = 2, .padding = 1}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({64, 37, 50}, BatchNorm{}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({64, 37, 50}, Activation{}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({64, 37, 50}, Dropout{}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({64, 37, 50}, StochasticDepth{}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({64, 37, 50}, PRelu{}), (Shape{64, 37, 50}));
  EXPECT_EQ(shape_after({512, 5, 7}, GlobalAveragePool{}), (Shape{512, 1, 1}));
  EXPECT_EQ(shape_after({3, 4, 5}, Flatten{}), (Shape{60}));
  EXPECT_EQ(shape_after({16, 9, 8}, SubsamplePad{.out_channels = 32}), (Shape{32, 5, 4}));
  EXPECT_EQ(shape_after({16, 9, 8}, SubsamplePad{.out_channels = 16, .stride = 1}), (Shape{16, 9, 8}));
  EXPECT_EQ(shape_after({8, 9, 9}, Conv2d{.out_channels = 16, .kernel = 3, .groups = 4}), (Shape{16, 7, 7}));
}

TEST(Network, WindowsMayDifferAlongBothSides) {
  const Conv2d conv{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 0}};
  EXPECT_EQ(shape_after({3, 19, 23}, conv), (Shape{6, 10, 19}));
  EXPECT_EQ(shape_after({3, 19, 23}, Conv2d{.out_channels = 2, .kernel = {1, 7}}), (Shape{2, 19, 17}));
  EXPECT_EQ(shape_after({3, 19, 23}, MaxPool{.kernel = {1, 2}, .stride = {1, 3}}), (Shape{3, 19, 8}));
  EXPECT_EQ(shape_after({3, 19, 23}, AveragePool{.kernel = {4, 3}, .stride = {3, 2}, .padding = {2, 1}}),
            (Shape{3, 7, 12}));
}

// All from torch.nn.functional's max_pool2d and avg_pool2d.
TEST(Network, PoolingMayRoundUp) {
  const auto sides = [](std::int64_t size, const MaxPool& pool) { return shape_after({1, size, size}, pool)[1]; };
  EXPECT_EQ(sides(10, {.kernel = 3, .stride = 2, .ceil_mode = true}), 5);
  EXPECT_EQ(sides(10, {.kernel = 3, .stride = 2}), 4);
  EXPECT_EQ(sides(11, {.kernel = 3, .stride = 2, .ceil_mode = true}), 5) << "comes out even";
  EXPECT_EQ(sides(4, {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}), 2);
  EXPECT_EQ(sides(5, {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}), 2)
      << "a third window would begin beyond the image";
  EXPECT_EQ(sides(1, {.kernel = 2, .stride = 2, .ceil_mode = true}), 1) << "the window may be larger than the image";
  EXPECT_EQ(shape_after({8, 5, 9}, AveragePool{.kernel = {2, 3}, .stride = {2, 3}, .padding = 1, .ceil_mode = true}),
            (Shape{8, 3, 4}));
}

TEST(Network, PadsMayDifferOnEachSide) {
  EXPECT_EQ(shape_after({3, 4, 5}, Pad{.before = {1, 2}, .after = {0, 3}}), (Shape{3, 5, 10}));
  EXPECT_THAT(refusal({3, 4, 5}, Pad{.before = {1, -2}, .after = 0}), HasSubstr("0 or more rows and columns, not -2"));
  EXPECT_THAT(refusal({784}, Pad{}), HasSubstr("image"));
}

TEST(Network, AnOutputBesideTheLastLayerKeepsThatOne) {
  Network network("net", {4});
  network.add("first", Linear{.out_features = 3});
  network.add("last", Linear{.out_features = 2});
  network.mark_last_layer();
  network.set_output("inside", 1);
  network.mark_last_layer();  // nothing is left to mark
  ASSERT_EQ(network.outputs().size(), 2u);
  EXPECT_EQ(network.outputs()[0].name, "output");
  EXPECT_EQ(network.outputs()[0].layer, 2);
}

TEST(Network, ProductsAndConcatenations) {
  const auto joined = [](const Shape& first, const Shape& second, const Op& op) {
    Network network("net", {12, 6, 4});
    const auto made = [&](const std::string& name, const Shape& shape) {
      if (shape.size() == 1) {
        network.add(name + "pool", GlobalAveragePool{}, {0});
        network.add(name + "flatten", Flatten{});
        return network.add(name, Linear{.out_features = shape[0]});
      }
      const Extent2d kernel{7 - shape[1], 5 - shape[2]};
      return network.add(name, Conv2d{.out_channels = shape[0], .kernel = kernel}, {0});
    };
    const int a = made("a", first), b = made("b", second);
    network.add("joined", op, {a, b});
    return network.output_shape();
  };
  EXPECT_EQ(joined({3, 6, 4}, {3, 6, 4}, Multiply{}), (Shape{3, 6, 4}));
  EXPECT_EQ(joined({3, 6, 4}, {3, 1, 1}, Multiply{}), (Shape{3, 6, 4}));
  EXPECT_EQ(joined({3, 1, 1}, {3, 6, 4}, Multiply{}), (Shape{3, 6, 4}));
  EXPECT_EQ(joined({3}, {3}, Multiply{}), (Shape{3}));
  EXPECT_EQ(joined({3, 6, 4}, {5, 6, 4}, Concat{}), (Shape{8, 6, 4}));
  EXPECT_EQ(joined({3}, {5}, Concat{}), (Shape{8}));
  const auto why = [&](const Shape& first, const Shape& second, const Op& op) {
    return test::thrown_by([&] { joined(first, second, op); });
  };
  EXPECT_THAT(why({3, 6, 4}, {2, 1, 1}, Multiply{}),
              AllOf(HasSubstr("'joined' (multiply)"), HasSubstr("per channel"), HasSubstr("3x6x4 and 2x1x1")));
  EXPECT_THAT(why({3, 6, 4}, {3, 6, 1}, Multiply{}), HasSubstr("per channel"));
  EXPECT_THAT(why({3, 6, 4}, {3}, Multiply{}), HasSubstr("per channel"));
  EXPECT_THAT(why({3, 6, 4}, {3, 6, 3}, Concat{}), AllOf(HasSubstr("'joined' (concat)"), HasSubstr("3x6x4 and 3x6x3")));
  EXPECT_THAT(why({3, 6, 4}, {3}, Concat{}), HasSubstr("one height and width"));
  EXPECT_THAT(refusal({3, 4, 4}, Multiply{}), HasSubstr("exactly two inputs"));
  EXPECT_THAT(refusal({3, 4, 4}, Concat{}), HasSubstr("at least two inputs"));
}

TEST(Network, ImpossibleShapesNameTheLayerWhatItNeedsAndWhatItGot) {
  EXPECT_THAT(refusal({3, 4, 9}, Conv2d{.out_channels = 8, .kernel = 7}),
              AllOf(HasSubstr("net: layer 'layer' (conv2d)"), HasSubstr("3x7x7"), HasSubstr("it got 3x4x9")));
  EXPECT_THAT(refusal({3, 9, 4}, MaxPool{.kernel = 5}), AllOf(HasSubstr("3x5x5"), HasSubstr("it got 3x9x4")));
  EXPECT_THAT(refusal({512, 1, 1}, Linear{.out_features = 10}),
              AllOf(HasSubstr("vector"), HasSubstr("512x1x1"), HasSubstr("flatten")));
  EXPECT_THAT(refusal({784}, Conv2d{.out_channels = 8}), AllOf(HasSubstr("image"), HasSubstr("it got 784")));
  EXPECT_THAT(refusal({784}, GlobalAveragePool{}), HasSubstr("image"));
  EXPECT_THAT(refusal({784}, MaxPool{}), HasSubstr("image"));
  EXPECT_THAT(refusal({784}, AveragePool{}), HasSubstr("image"));
  EXPECT_THAT(refusal({3, 9, 4}, Conv2d{.out_channels = 8, .kernel = {3, 7}, .padding = {0, 1}}),
              AllOf(HasSubstr("3x3x5"), HasSubstr("kernel of 3x7 and padding of 0x1"), HasSubstr("it got 3x9x4")));
  EXPECT_THAT(refusal({3, 9, 1}, AveragePool{.kernel = 3, .ceil_mode = true}), HasSubstr("3x2x2"));
  EXPECT_THAT(refusal({784}, SubsamplePad{.out_channels = 900}), HasSubstr("image"));
  EXPECT_THAT(refusal({32, 8, 8}, SubsamplePad{.out_channels = 16}),
              AllOf(HasSubstr("16 channels"), HasSubstr("32x8x8")));

  Network network("net", {3, 8, 8});
  const int a = network.add("a", Conv2d{.out_channels = 4, .kernel = 3});
  EXPECT_THAT(test::thrown_by([&] {
                network.add("sum", Add{}, {0, a});
              }),
              AllOf(HasSubstr("'sum' (add)"), HasSubstr("3x8x8 and 4x6x6")));
  EXPECT_THAT(test::thrown_by([&] { network.add("sum", Add{}); }), HasSubstr("at least two inputs"));
  EXPECT_THAT(test::thrown_by([&] {
                network.add("relu", Activation{}, {0, a});
              }),
              AllOf(HasSubstr("'relu' (relu)"), HasSubstr("exactly one input")));
  EXPECT_EQ(network.layers().size(), 2U) << "a refused layer leaves no trace";
  EXPECT_EQ(network.parameters().size(), 1U);
}

TEST(Network, RefusesSettingsThatMeanNothing) {
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 0}), HasSubstr("out_channels"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .kernel = 0}), HasSubstr("kernel"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .stride = 0}), HasSubstr("stride"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .padding = -1}), HasSubstr("padding"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .groups = 2}), HasSubstr("2 groups"));
  EXPECT_THAT(refusal({3, 8, 8}, MaxPool{.kernel = 3, .padding = 2}), HasSubstr("half"));
  EXPECT_THAT(refusal({3, 8, 8}, AveragePool{.kernel = {4, 3}, .padding = 2}),
              AllOf(HasSubstr("2 pixels, more than half"), HasSubstr("4x3")));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .kernel = {3, 0}}), HasSubstr("kernel"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .stride = {1, 0}}), HasSubstr("stride"));
  EXPECT_THAT(refusal({3, 8, 8}, Conv2d{.out_channels = 4, .padding = {0, -1}}), HasSubstr("padding"));
  EXPECT_THAT(refusal({3, 8, 8}, StochasticDepth{-0.1}), HasSubstr("probability"));
  EXPECT_THAT(refusal({3, 8, 8}, SubsamplePad{.out_channels = 0}), HasSubstr("out_channels"));
  EXPECT_THAT(refusal({3, 8, 8}, SubsamplePad{.out_channels = 4, .stride = 0}), HasSubstr("stride"));
  EXPECT_THAT(refusal({3, 8, 8}, Dropout{1.0}), HasSubstr("probability"));
  EXPECT_THAT(refusal({3, 8, 8}, Input{}), HasSubstr("input"));
  EXPECT_THAT(refusal({8}, Linear{.out_features = -1}), HasSubstr("out_features"));
  EXPECT_THAT(refusal({1 << 20}, Linear{.out_features = 1 << 30}), HasSubstr("more than")) << "would overflow later on";
}

TEST(Network, RefusesImpossibleInputs) {
  for (const Shape& input : {Shape{}, Shape{0}, Shape{3, 224}, Shape{3, 0, 224}, Shape{3, -1, 4}, Shape{1, 1, 1, 1}}) {
    EXPECT_THAT(test::thrown_by([&] { Network("net", input); }), HasSubstr("net: the input must be")) << input.size();
  }
}

TEST(Network, KeepsItsLayersInOrderAndTheirNamesUnique) {
  Network network("net", {3, 8, 8});
  EXPECT_EQ(network.add("conv", Conv2d{.out_channels = 3, .kernel = 3, .padding = 1}), 1);
  EXPECT_EQ(network.add("sum", Add{}, {1, 0}), 2);
  EXPECT_THAT(network.layers()[1].inputs, testing::ElementsAre(0)) << "the layer before is the default";
  EXPECT_THAT(test::thrown_by([&] { network.add("conv", Activation{}); }), HasSubstr("'conv' is taken"));
  EXPECT_THAT(test::thrown_by([&] { network.add("", Activation{}); }), HasSubstr("empty"));
  EXPECT_THAT(test::thrown_by([&] { network.add("loop", Activation{}, {3}); }), HasSubstr("fed by layer 3"));
  EXPECT_THAT(test::thrown_by([&] { network.add("loop", Activation{}, {-1}); }), HasSubstr("fed by layer -1"));
}

TEST(Network, TheLastLayerIsTheOutputWhereNoneIsMarked) {
  Network network("net", {3, 8, 8});
  network.add("conv", Conv2d{.out_channels = 4, .kernel = 3});
  ASSERT_EQ(network.outputs().size(), 1U);
  EXPECT_EQ(network.outputs()[0].layer, 1);
  network.add("pool", GlobalAveragePool{});
  ASSERT_EQ(network.outputs().size(), 1U);
  EXPECT_EQ(network.outputs()[0].name, "output");
  EXPECT_EQ(network.outputs()[0].layer, 2);
  EXPECT_EQ(network.output_shape(), (Shape{4, 1, 1}));
  EXPECT_EQ(outputs_text(network), "output output 4x1x1");
  network.add("flatten", Flatten{});
  EXPECT_EQ(outputs_text(network), "4 outputs");
}

TEST(Network, MarkedOutputsStandInTheOrderOfMarking) {
  Network network("net", {3, 8, 8});
  const int trunk = network.add("trunk", Conv2d{.out_channels = 4, .kernel = 3});
  const int scores = network.add("scores", Conv2d{.out_channels = 2}, {trunk});
  const int boxes = network.add("boxes", Conv2d{.out_channels = 5}, {trunk});
  network.set_output("regression", boxes);
  network.set_output("class", scores);
  network.add("unused", Conv2d{.out_channels = 7}, {trunk});
  ASSERT_EQ(network.outputs().size(), 2U);
  EXPECT_EQ(network.outputs()[0].name, "regression");
  EXPECT_EQ(network.output_shape(), (Shape{5, 6, 6})) << "of the first";
  EXPECT_EQ(network.outputs()[1].name, "class");
  EXPECT_EQ(network.output_shape(network.outputs()[1]), (Shape{2, 6, 6}));
  EXPECT_EQ(outputs_text(network), "outputs regression 5x6x6, class 2x6x6");

  EXPECT_THAT(test::thrown_by([&] { network.set_output("class", trunk); }), HasSubstr("'class' is taken"));
  EXPECT_THAT(test::thrown_by([&] { network.set_output("", trunk); }), HasSubstr("empty"));
  EXPECT_THAT(test::thrown_by([&] { network.set_output("a", 0); }), HasSubstr("'a' is to be layer 0"));
  EXPECT_THAT(test::thrown_by([&] { network.set_output("a", 5); }), HasSubstr("are 1 to 4"));
  EXPECT_EQ(network.outputs().size(), 2U) << "a refused output leaves no trace";
}

TEST(Network, AnOutputMayBeNamedOutput) {
  Network network("net", {3, 8, 8});
  const int trunk = network.add("trunk", Conv2d{.out_channels = 4, .kernel = 3});
  network.add("relu", Activation{});
  network.set_output("output", trunk);
  ASSERT_EQ(network.outputs().size(), 1U);
  EXPECT_EQ(network.outputs()[0].layer, trunk);
}

TEST(Network, ParametersComeInStateDictOrderWithTheirFans) {
  Network network("net", {2, 8, 8});
  network.add("conv", Conv2d{.out_channels = 6, .kernel = 3, .groups = 2, .bias = true});
  network.add("bn", BatchNorm{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{.out_features = 5});
  network.add("head", Linear{.out_features = 3, .bias = false});

  std::vector<std::string> names;
  for (const Parameter& parameter : network.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names,
              testing::ElementsAre("conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean",
                                   "bn.running_var", "bn.num_batches_tracked", "fc.weight", "fc.bias", "head.weight"));
  const auto& all = network.parameters();
  EXPECT_EQ(all[0].shape, (Shape{6, 1, 3, 3}));
  EXPECT_EQ(all[0].fan, 6 * 9) << "fan-out: output channels times the kernel's area";
  EXPECT_EQ(all[1].fan, 9) << "a bias goes by its weight's fan-in";
  EXPECT_EQ(all[4].trained, false);
  EXPECT_EQ(all[6].shape, Shape{});
  EXPECT_EQ(all[7].shape, (Shape{5, 6 * 6 * 6}));
  EXPECT_EQ(all[7].fan, 216);
  EXPECT_EQ(all[7].layer, 4);

  Network other("net", {2, 8, 8});
  other.add("conv", Conv2d{.out_channels = 6, .kernel = {1, 7}, .bias = true});
  other.add("prelu", PRelu{});
  ASSERT_EQ(other.parameters().size(), 3U);
  EXPECT_EQ(other.parameters()[0].shape, (Shape{6, 2, 1, 7}));
  EXPECT_EQ(other.parameters()[0].fan, 6 * 7);
  EXPECT_EQ(other.parameters()[1].fan, 2 * 7);
  EXPECT_EQ(other.parameters()[2].name, "prelu.weight");
  EXPECT_EQ(other.parameters()[2].shape, Shape{6});
  EXPECT_EQ(other.parameters()[2].init, Init::kQuarters);
}

TEST(Network, OperationsHaveNames) {
  EXPECT_STREQ(op_name(Input{}), "input");
  EXPECT_STREQ(op_name(Linear{}), "linear");
  EXPECT_STREQ(op_name(Conv2d{}), "conv2d");
  EXPECT_STREQ(op_name(BatchNorm{}), "batch_norm");
  EXPECT_STREQ(op_name(Activation{ActivationKind::kRelu6}), "relu6");
  EXPECT_STREQ(op_name(Activation{ActivationKind::kTanh}), "tanh");
  EXPECT_STREQ(op_name(MaxPool{}), "max_pool");
  EXPECT_STREQ(op_name(GlobalAveragePool{}), "global_pool");
  EXPECT_STREQ(op_name(Add{}), "add");
  EXPECT_STREQ(op_name(Flatten{}), "flatten");
  EXPECT_STREQ(op_name(Dropout{}), "dropout");
  EXPECT_STREQ(op_name(SubsamplePad{}), "subsample_pad");
  EXPECT_STREQ(op_name(Activation{ActivationKind::kSilu}), "silu");
  EXPECT_STREQ(op_name(Activation{ActivationKind::kHardSwish}), "hard_swish");
  EXPECT_STREQ(op_name(Activation{ActivationKind::kHardSigmoid}), "hard_sigmoid");
  EXPECT_STREQ(op_name(PRelu{}), "prelu");
  EXPECT_STREQ(op_name(AveragePool{}), "avg_pool");
  EXPECT_STREQ(op_name(Multiply{}), "multiply");
  EXPECT_STREQ(op_name(Concat{}), "concat");
  EXPECT_STREQ(op_name(StochasticDepth{}), "stochastic_depth");
}

}  // namespace
}  // namespace evener::network
