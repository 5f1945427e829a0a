// What no other test of this room computes: folded weights, the steps of a block, detectors and their criterion, the
// memory of stages, backward operations, and first values of given deviations.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/thrown.h"
#include "network/anchors.h"
#include "network/cost.h"
#include "network/criterion.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"
#include "network/step_memory.h"
#include "network/steps.h"
#include "network/zoo.h"

namespace evener::network::rules {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

HostTensor floats(const Shape& shape, const std::vector<float>& values) {
  return HostTensor::of_floats(shape, values);
}

std::vector<std::string> layer_names(const Network& network) {
  std::vector<std::string> names;
  for (const Layer& layer : network.layers()) names.push_back(layer.name);
  return names;
}

// --- folding ---------------------------------------------------------------------------------------------------------

/// A convolution of two channels with a normalisation whose factors are 1 and 2.
Network normed() {
  Network network("net", {2, 1, 1});
  network.add("conv", Conv2d{.out_channels = 2, .bias = true});
  network.add("norm", BatchNorm{.epsilon = 0.5});
  return network;
}

TensorMap normed_state() {
  return {{"conv.weight", floats({2, 2, 1, 1}, {1, 2, 3, 4})},
          {"conv.bias", floats({2}, {5, 6})},
          {"norm.weight", floats({2}, {2, 6})},
          {"norm.bias", floats({2}, {0.5, -0.5})},
          {"norm.running_mean", floats({2}, {1, 2})},
          {"norm.running_var", floats({2}, {3.5, 8.5})},
          {"norm.num_batches_tracked", HostTensor::scalar_i64(7)}};
}

TEST(FoldedWeights, AreTheConvolutionsTimesTheFactorsOfTheNormalisation) {
  const NetworkWithState folded = fold_batch_norm(normed(), normed_state());
  EXPECT_THAT(layer_names(folded.network), ElementsAre("input", "norm"));
  EXPECT_TRUE(std::get<Conv2d>(folded.network.layers()[1].op).bias);
  EXPECT_EQ(folded.state, (TensorMap{{"norm.weight", floats({2, 2, 1, 1}, {1, 2, 6, 8})},
                                     {"norm.bias", floats({2}, {(5 - 1) * 1 + 0.5F, (6 - 2) * 2 - 0.5F})}}));
  Network without("net", {2, 1, 1});
  without.add("conv", Conv2d{.out_channels = 2});
  without.add("norm", BatchNorm{.epsilon = 0.5});
  TensorMap state = normed_state();
  state.erase("conv.bias");
  EXPECT_EQ(fold_batch_norm(without, state).state.at("norm.bias"), floats({2}, {-1 + 0.5F, -4 - 0.5F}));
  state.erase("norm.running_var");
  EXPECT_THAT(test::thrown_by([&] { fold_batch_norm(without, state); }),
              HasSubstr("the weights have no tensor 'norm.running_var'"));
}

TEST(FoldedWeights, AreOfConvolutionsThatNothingElseReadsAndThatAreNotQuantised) {
  const auto folds = [](const Conv2d& conv, bool has_reader, bool is_output) {
    Network network("net", {2, 4, 4});
    network.add("conv", conv);
    network.add("norm", BatchNorm{}, {1});
    if (has_reader) network.add("other", Activation{}, {1});
    network.set_output("last", 2);
    if (is_output) network.set_output("inner", 1);
    return fold_batch_norm(network).layers()[1].name == "norm";
  };
  EXPECT_TRUE(folds({.out_channels = 3}, false, false));
  EXPECT_FALSE(folds({.out_channels = 3}, true, false));
  EXPECT_FALSE(folds({.out_channels = 3}, false, true));
  EXPECT_FALSE(folds({.out_channels = 3, .weight_bits = 8}, false, false));
}

TEST(FoldedNetworks, KeepOutputsInputsAndOtherNormalisations) {
  Network network("net", {2, 4, 4});
  const int further = network.add_input("further", {2, 4, 4});
  const int conv = network.add("conv", Conv2d{.out_channels = 2}, {0});
  const int norm = network.add("norm", BatchNorm{}, {conv});
  const int sum = network.add("sum", Add{}, {further, norm});
  const int after = network.add("after", BatchNorm{}, {sum});
  network.set_output("b", after);
  network.set_output("a", norm);
  network.hand_on("c", further);
  const Network folded = fold_batch_norm(network);
  EXPECT_THAT(layer_names(folded), ElementsAre("input", "further", "norm", "sum", "after"));
  std::vector<std::string> outputs;
  for (const Output& output : folded.outputs()) {
    outputs.push_back(output.name + " " + folded.layers()[static_cast<std::size_t>(output.layer)].name);
  }
  EXPECT_THAT(outputs, ElementsAre("b after", "a norm", "c further"));
  EXPECT_THAT(folded.layers()[3].inputs, ElementsAre(1, 2));
  EXPECT_THAT(folded.layers()[2].inputs, ElementsAre(0));
}

// --- steps -----------------------------------------------------------------------------------------------------------

/// "norm1-relu1 of conv1": the first and the last layer of a step and what it reads; "in place"; what can go then.
std::vector<std::string> told(const Network& network, Join join) {
  const auto name = [&](int index) { return network.layers()[static_cast<std::size_t>(index)].name; };
  std::vector<std::string> texts;
  for (const Step& step : plan_steps(network, join)) {
    std::string text = name(step.layer) + (step.output != step.layer ? "-" + name(step.output) : "");
    for (const int input : step.inputs) text += " of " + name(input);
    if (step.overwrites) text += ", in place";
    for (const int dead : step.dead) text += ", without " + name(dead);
    EXPECT_EQ(step.activation, step.output == step.layer || name(step.output).starts_with("sum") ? -1 : step.output);
    texts.push_back(text);
  }
  return texts;
}

/// A residual block and a head.
Network block() {
  Network network("net", {2, 4, 4});
  network.add("conv1", Conv2d{.out_channels = 2});
  network.add("norm1", BatchNorm{});
  const int first = network.add("relu1", Activation{});
  network.add("conv2", Conv2d{.out_channels = 2});
  const int norm = network.add("norm2", BatchNorm{});
  network.add("sum", Add{}, {norm, first});
  network.add("relu2", Activation{});
  network.add("pool", GlobalAveragePool{});
  network.add("flat", Flatten{});
  network.add("fc", Linear{.out_features = 3});
  return network;
}

TEST(StepsOfABlock, AreItsLayersWhereNothingIsJoined) {
  EXPECT_THAT(told(block(), Join::kNothing),
              ElementsAre("input", "conv1 of input, without input", "norm1 of conv1, in place, without conv1",
                          "relu1 of norm1, in place, without norm1", "conv2 of relu1",
                          "norm2 of conv2, in place, without conv2",
                          "sum of norm2 of relu1, in place, without norm2, without relu1",
                          "relu2 of sum, in place, without sum", "pool of relu2, without relu2",
                          "flat of pool, without pool", "fc of flat, without flat"));
}

TEST(StepsOfABlock, HaveNormalisationsWithTheirSumAndReluWhereTheyAreJoined) {
  EXPECT_THAT(told(block(), Join::kBatchNorm),
              ElementsAre("input", "conv1 of input, without input", "norm1-relu1 of conv1, without conv1",
                          "conv2 of relu1", "norm2-relu2 of conv2 of relu1, without conv2, without relu1",
                          "pool of relu2, without relu2", "flat of pool, without pool", "fc of flat, without flat"));
}

TEST(StepsOfABlock, HaveConvolutionsWithThemForInference) {
  EXPECT_THAT(
      told(fold_batch_norm(block()), Join::kConvolutionToo),
      ElementsAre("input", "norm1-relu1 of input, without input", "norm2-relu2 of relu1 of relu1, without relu1",
                  "pool of relu2, without relu2", "flat of pool, without pool", "fc of flat, without flat"));
}

TEST(StepsOfABlock, JoinNoOtherFunctionsWithNormalisationsAndNothingThatOthersRead) {
  const auto with = [](ActivationKind kind, const Op& first, bool is_output, Join join) {
    Network network("net", {2, 4, 4});
    network.add("first", first);
    network.add("function", Activation{kind});
    network.set_output("last", 2);
    if (is_output) network.set_output("inner", 1);
    return told(network, join).at(1);
  };
  EXPECT_EQ(with(ActivationKind::kRelu6, BatchNorm{}, false, Join::kBatchNorm),
            "first-function of input, without input");
  EXPECT_EQ(with(ActivationKind::kTanh, BatchNorm{}, false, Join::kBatchNorm), "first of input, without input");
  EXPECT_EQ(with(ActivationKind::kRelu, BatchNorm{}, true, Join::kBatchNorm), "first of input, without input");
  EXPECT_EQ(with(ActivationKind::kTanh, Conv2d{.out_channels = 2}, false, Join::kConvolutionToo),
            "first-function of input, without input");
  EXPECT_EQ(with(ActivationKind::kTanh, Conv2d{.out_channels = 2}, false, Join::kBatchNorm),
            "first of input, without input");
}

TEST(Depthwise, AreSquareFiltersOfOneChannelWithoutABias) {
  const Conv2d usual{.out_channels = 4, .kernel = 3, .padding = 1, .groups = 4};
  EXPECT_TRUE(is_depthwise(usual, 4));
  const auto is_so = [&](auto&& change, std::int64_t in_channels = 4) {
    Conv2d op = usual;
    change(op);
    return is_depthwise(op, in_channels);
  };
  EXPECT_TRUE(is_so([](Conv2d& op) { op.kernel = 5, op.padding = 4, op.stride = 2; }));
  EXPECT_TRUE(is_so([](Conv2d& op) { op.kernel = 7, op.padding = 0; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.kernel = 5, op.padding = 5; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.kernel = 4; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.kernel = 9; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.bias = true; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.groups = 2; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.out_channels = 8; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.kernel = {3, 5}; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.stride = {1, 2}; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.padding = {1, 0}; }));
  EXPECT_FALSE(is_so([](Conv2d& op) { op.out_channels = op.groups = 1; }, 1)) << "of one channel it is an ordinary one";
}

// --- detectors and their criterion -----------------------------------------------------------------------------------

/// Two anchors in the one cell of an image, `classes` classes and the background.
Network detector(std::int64_t classes) {
  Network network("eye", {3, 1, 1});
  const int boxes = network.add("box_conv", Conv2d{.out_channels = 8, .bias = true}, {0});
  const int box_rows = network.add("box_rows", Rows{4}, {boxes});
  const int scores = network.add("score_conv", Conv2d{.out_channels = 2 * (classes + 1), .bias = true}, {0});
  const int score_rows = network.add("score_rows", Rows{classes + 1}, {scores});
  network.set_output("boxes", box_rows);
  network.set_output("scores", score_rows);
  network.set_anchors(
      {Anchor{.cx = 0.5F, .cy = 0.5F, .w = 1, .h = 1}, Anchor{.cx = 0.5F, .cy = 0.5F, .w = 1, .h = 0.5F}});
  return network;
}

TEST(Detectors, HaveARowForEachAnchorAndAScoreForEachClass) {
  Network network = detector(6);
  EXPECT_EQ(network.output_shape(network.outputs()[1]), (Shape{2, 7}));
  EXPECT_EQ(detected_classes(network), 6);
  EXPECT_THAT(test::thrown_by([&] {
                network.set_anchors({Anchor{}, Anchor{}, Anchor{}});
              }),
              HasSubstr("eye: 3 anchors need outputs with as many rows, but 'boxes' is 2x4"));
  EXPECT_EQ(network.anchors().size(), 2U) << "refused ones leave no trace";
  network.set_anchors({});
  EXPECT_THAT(test::thrown_by([&] { detected_classes(network); }), HasSubstr("eye is no detector"));
  Network image("net", {6, 4, 4});
  EXPECT_THAT(test::thrown_by([&] { image.add("rows", Rows{4}); }), HasSubstr("doesn't come out even with 6 channels"));
  image.add("rows", Rows{3});
  EXPECT_EQ(image.output_shape(), (Shape{32, 3}));
}

TEST(Detectors, TellTheClassesOfAFileByItsScores) {
  const Network network = detector(3);
  const auto classes_of_file = [&](std::int64_t channels) {
    TensorMap given;
    given["score_conv.weight"] =
        floats({channels, 3, 1, 1}, std::vector<float>(static_cast<std::size_t>(3 * channels)));
    given["box_conv.weight"] = floats({8, 3, 1, 1}, std::vector<float>(24));
    const HeadOutputs outputs = head_outputs(network, given);
    return std::pair(outputs.of_network, outputs.of_file);
  };
  EXPECT_THAT(classes_of_file(8), Pair(3, 3));
  EXPECT_THAT(classes_of_file(2 * 91), Pair(3, 90));
  EXPECT_THAT(classes_of_file(4), Pair(3, 1));
  const HeadOutputs none;
  EXPECT_THAT(classes_of_file(7), Pair(none.of_network, none.of_file)) << "not the scores of two anchors";
  EXPECT_THAT(classes_of_file(2), Pair(none.of_network, none.of_file)) << "the background alone";
}

TEST(CriterionOfBoxes, IsForDetectorsAloneAndStandsAlone) {
  const Network network = detector(3);
  EXPECT_EQ(criterion_text(multi_box()), "multi-box");
  EXPECT_EQ(criterion_text(multi_box(BoxLoss::kGiou)), "multi-box:giou");
  EXPECT_THAT(sum_names(multi_box()), ElementsAre("loss", "box_loss", "class_loss"));
  EXPECT_EQ(why_unfit(multi_box(), network), "");
  EXPECT_EQ(boxes_term(multi_box(BoxLoss::kGiou))->box_loss, BoxLoss::kGiou);
  EXPECT_EQ(boxes_term(cross_entropy()), nullptr);
  Network classifier("net", {3});
  classifier.add("fc", Linear{.out_features = 2});
  EXPECT_THAT(why_unfit(multi_box(), classifier), HasSubstr("'net' is no detector"));
  Criterion weighted = multi_box();
  weighted.terms.front().weight = 0.5;
  EXPECT_THAT(why_unfit(weighted, network), HasSubstr("has no weight"));
  Criterion two = multi_box();
  two.terms.push_back({CrossEntropy{}, 1, {"scores"}, "other"});
  EXPECT_THAT(why_unfit(two, network), HasSubstr("no other terms"));
  Criterion endless = cross_entropy();
  endless.terms.front().weight = INFINITY;
  EXPECT_THAT(why_unfit(endless, classifier), HasSubstr("a weight that is not finite"));
}

TEST(AnchorGrids, GoAlongRowsOfUnequalSides) {
  const auto anchors = default_boxes({{.rows = 2, .columns = 3, .scale = 0.5, .next_scale = 0.5, .aspect_ratios = {}},
                                      {.rows = 1, .columns = 1, .scale = 1, .next_scale = 1, .aspect_ratios = {4}}});
  ASSERT_EQ(anchors.size(), 2U * 3 * 2 + 4);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_FLOAT_EQ(anchors[i].cx, (static_cast<float>(i / 2 % 3) + 0.5F) / 3) << i;
    EXPECT_FLOAT_EQ(anchors[i].cy, (static_cast<float>(i / 6) + 0.5F) / 2) << i;
  }
  EXPECT_FLOAT_EQ(anchors[14].w, 1) << "no wider than the image";
  EXPECT_FLOAT_EQ(anchors[14].h, 0.5);
}

// --- memory ----------------------------------------------------------------------------------------------------------

/// 12 values in, 5 and 3 out; weights of 65 and 18 values.
Network perceptron() {
  Network network("mlp", {12});
  network.add("first", Linear{.out_features = 5});
  network.add("function", Activation{ActivationKind::kSigmoid});
  network.add("second", Linear{.out_features = 3});
  return network;
}

std::int64_t per_sample_values(const Network& network, const StepOptions& options) {
  const StepMemory memory(network, options);
  return (memory.peak_bytes(1'000'001) - memory.peak_bytes(1'000'000)) / 4;
}

// By hand, after step_memory_test.cpp: 12 values in, 5 kept of the function, gradients of 3, 5, 5 and 12 values.
TEST(StageMemory, HasGradientsOfItsInputsAndNoLoss) {
  EXPECT_EQ(per_sample_values(perceptron(), {}), 12 + 5 + 3 + 9) << "at the loss";
  EXPECT_EQ(per_sample_values(perceptron(), {.is_last = false}), 12 + 5 + 5 + 5) << "at the function's gradient";
  EXPECT_EQ(per_sample_values(perceptron(), {.is_first = false, .is_last = false, .copies_inputs = true}), 12 + 5 + 12)
      << "at that of the inputs";
  EXPECT_EQ(per_sample_values(perceptron(), {.is_first = false, .is_last = false}), 5 + 12) << "which lie elsewhere";
}

TEST(StageMemory, OfConvolutionsHasScratchForEachThread) {
  Network network("net", {3, 1, 1});
  network.add("conv", Conv2d{.out_channels = 4});  // 12 weights
  network.add("flat", Flatten{});
  const auto fixed = [&](const StepOptions& options) { return StepMemory(network, options).peak_bytes(0) / 4; };
  EXPECT_EQ(fixed({.has_scratch = false}), 12) << "the gradient";
  EXPECT_EQ(fixed({}), 2 * 12);
  EXPECT_EQ(fixed({.threads = 3}), 4 * 12);
}

TEST(StageMemory, BetweenTheTwoPassesIsWhatWasKept) {
  const auto kept = [](const Network& network, int bits) { return StepMemory(network, {.bits = bits}).kept_bytes(10); };
  EXPECT_EQ(kept(perceptron(), 32), 10 * 4 * (12 + 5 + 3)) << "the inputs, the function's result, and the scores";
  EXPECT_EQ(kept(perceptron(), 16), 10 * 2 * (12 + 5 + 3) + 2 * (65 + 18)) << "and the weights in 16 bits";
  const auto with_dropout = [&](double probability) {
    Network network("mlp", {12});
    network.add("first", Linear{.out_features = 5});
    network.add("function", Activation{ActivationKind::kSigmoid});
    network.add("drop", Dropout{probability});
    network.add("second", Linear{.out_features = 3});
    return kept(network, 32);
  };
  EXPECT_EQ(with_dropout(0.5) - with_dropout(0), 10 * 4 * (5 + 5)) << "the mask, and a result of its own";
}

// --- operations ------------------------------------------------------------------------------------------------------

TEST(BackwardOperations, AreThoseOfEachFormula) {
  const auto backward = [](const Op& op) {
    Network network("net", {2, 4, 6});  // 48 values
    network.add("first", BatchNorm{});
    network.add("layer", op);
    return layer_costs(network).back().backward_flops;
  };
  const auto of = [&](ActivationKind kind) { return backward(Activation{kind}); };
  EXPECT_EQ(backward(BatchNorm{}), 7 * 48);
  EXPECT_EQ(of(ActivationKind::kRelu), 48);
  EXPECT_EQ(of(ActivationKind::kRelu6), 48);
  EXPECT_EQ(of(ActivationKind::kSigmoid), 3 * 48);
  EXPECT_EQ(of(ActivationKind::kTanh), 3 * 48);
  EXPECT_EQ(of(ActivationKind::kSilu), 9 * 48);
  EXPECT_EQ(of(ActivationKind::kHardSigmoid), 2 * 48);
  EXPECT_EQ(of(ActivationKind::kHardSwish), 4 * 48);
  EXPECT_EQ(backward(MaxPool{.kernel = {2, 3}, .stride = {2, 3}}), 2 * 2 * 2);
  EXPECT_EQ(backward(AveragePool{.kernel = {2, 3}, .stride = {2, 3}}), 2 * 2 * 2 * 6);
  EXPECT_EQ(backward(GlobalAveragePool{}), 48);
  EXPECT_EQ(backward(Scale{2}), 48);
  EXPECT_EQ(backward(FakeQuantize{}), 4 * 48);
  EXPECT_EQ(backward(Dropout{}), 48);
  EXPECT_EQ(backward(StochasticDepth{}), 48);
  for (const Op& moved : {Op(Flatten{}), Op(Rows{2}), Op(Pad{.before = 1}), Op(SubsamplePad{.out_channels = 3})}) {
    EXPECT_EQ(backward(moved), 0) << op_name(moved);
  }
}

TEST(TrainingMemory, KeepsOnceWhatAFunctionsGradientIsComputedOf) {
  const auto kept = [](const Op& op) {
    Network network("net", {2, 4, 6});
    network.add("first", Scale{2});
    network.add("learns", BatchNorm{});  // keeps the scaled values
    network.add("function", op);
    network.add("last", Scale{2});
    const TrainingMemory memory = training_memory(network);
    return (memory.per_sample_bytes - memory.widest_bytes) / 4 / 48;
  };
  using enum ActivationKind;
  for (const ActivationKind kind : {kRelu, kRelu6, kSigmoid, kTanh, kSilu, kHardSwish, kHardSigmoid}) {
    EXPECT_EQ(kept(Activation{kind}), 2) << op_name(Activation{kind}) << ": its result or its input";
  }
  EXPECT_EQ(kept(PRelu{}), 2);
  EXPECT_EQ(kept(FakeQuantize{}), 2);
  EXPECT_EQ(kept(Scale{3}), 1) << "needs neither";
  EXPECT_EQ(kept(StochasticDepth{}), 1);
}

// --- quantisation ----------------------------------------------------------------------------------------------------

TEST(QuantizedSigns, AreThoseOfWhatComputesTheValue) {
  const auto is_signed = [](const std::vector<Op>& ops) {
    Network network("net", {2, 4, 4});
    network.add("conv", Conv2d{.out_channels = 2, .bias = true});
    for (const Op& op : ops) network.add("layer" + std::to_string(network.layers().size()), op);
    const std::string last = network.layers().back().name;
    network.add("next", Conv2d{.out_channels = 2, .bias = true});
    return choose_quantization(network, 8, {}).activations.at(last);
  };
  const auto of = [&](ActivationKind kind) { return is_signed({Activation{kind}}); };
  using enum ActivationKind;
  for (const ActivationKind kind : {kRelu, kRelu6, kSigmoid, kHardSigmoid}) EXPECT_FALSE(of(kind));
  for (const ActivationKind kind : {kTanh, kSilu, kHardSwish}) EXPECT_TRUE(of(kind));
  EXPECT_FALSE(is_signed({Activation{kRelu}, Scale{2}}));
  EXPECT_TRUE(is_signed({Activation{kRelu}, Scale{-2}}));
  EXPECT_FALSE(is_signed({Activation{kSigmoid}, MaxPool{.kernel = 1, .stride = 1}, AveragePool{}}));
  EXPECT_TRUE(is_signed({AveragePool{}}));
  EXPECT_TRUE(is_signed({Activation{kRelu}, PRelu{}}));
}

TEST(QuantizedSigns, AndScalesAreOneForConcatenationsThatShareAPart) {
  Network network("net", {2, 4, 4});
  std::vector<int> parts;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const int conv = network.add(std::string("conv_") + name, Conv2d{.out_channels = 2, .bias = true}, {0});
    const ActivationKind kind = name[0] == 'c' ? ActivationKind::kTanh : ActivationKind::kRelu;
    parts.push_back(network.add(name, Activation{kind}, {conv}));
  }
  for (const auto& [name, one, two] : {std::tuple("ab", 0, 1), {"de", 3, 4}, {"bc", 1, 2}}) {
    const int joined =
        network.add(name, Concat{}, {parts[static_cast<std::size_t>(one)], parts[static_cast<std::size_t>(two)]});
    network.set_output(name, network.add(name + std::string("_conv"), Conv2d{.out_channels = 1}, {joined}));
  }
  const QuantizationScheme scheme = choose_quantization(network, 8, {});
  EXPECT_THAT(shared_scales(network, scheme),
              UnorderedElementsAre(UnorderedElementsAre("a", "b", "c"), UnorderedElementsAre("d", "e")));
  EXPECT_THAT(scheme.activations, UnorderedElementsAre(Pair("input", true), Pair("a", true), Pair("b", true),
                                                       Pair("c", true), Pair("d", false), Pair("e", false)));
  EXPECT_FALSE(is_quantized(network));
  EXPECT_TRUE(is_quantized(with_quantization(network, scheme)));
}

// --- first values ----------------------------------------------------------------------------------------------------

TEST(FirstValues, OfAGivenDeviationAreNormalAndTheirBiasesZero) {
  Network network("net", {3, 2, 2});
  network.add("conv", Conv2d{.out_channels = 2, .bias = true, .first_deviation = 0.03});
  network.add("slopes", PRelu{});
  const TensorMap state = initial_state(network, 5);
  Random random(5, Purpose::kInit, hash_text("conv.weight"));
  for (int i = 0; i < 6; i += 2) {
    const double radius = 0.03 * std::sqrt(-2 * std::log(1 - random.uniform()));
    const double angle = 2 * std::numbers::pi * random.uniform();
    EXPECT_FLOAT_EQ(state.at("conv.weight").floats()[i], static_cast<float>(radius * std::cos(angle)));
    EXPECT_FLOAT_EQ(state.at("conv.weight").floats()[i + 1], static_cast<float>(radius * std::sin(angle)));
  }
  EXPECT_EQ(state.at("conv.bias"), floats({2}, {0, 0}));
  EXPECT_EQ(state.at("slopes.weight"), floats({2}, {0.25, 0.25}));
}

TEST(Models, ThatFollowFromOthersAreTold) {
  EXPECT_EQ(classifier_of("ssdlite320_mobilenet_v3_large"), "mobilenet_v3_large");
  EXPECT_EQ(classifier_of("ssdlite_mobilenet_v2"), "mobilenet_v2");
  EXPECT_EQ(classifier_of("mobilenet_v2"), "");
  EXPECT_TRUE(embeds_faces("mobilefacenet"));
  EXPECT_TRUE(embeds_faces("inception_resnet_v1"));
  EXPECT_FALSE(embeds_faces("mtcnn_onet"));
}

}  // namespace
}  // namespace evener::network::rules
