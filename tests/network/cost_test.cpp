// Operations and memory, counted by hand for small layers and measured in PyTorch for whole networks.
#include "network/cost.h"

#include <gtest/gtest.h>

#include "network/zoo.h"

namespace evener::network {
namespace {

// Forward and backward operations of `op` as the second of two layers, so that its input needs a gradient.
LayerCost cost_after_trained(const Shape& input, const Op& op) {
  Network network("net", input);
  network.add("first", BatchNorm{});
  network.add("layer", op);
  return layer_costs(network).back();
}

TEST(Cost, ProductsCountTwoPerMultiplyAdd) {
  const LayerCost linear = cost_after_trained({20}, Linear{.out_features = 30});
  EXPECT_EQ(linear.parameters, 20 * 30 + 30);
  EXPECT_EQ(linear.forward_flops, 2 * 20 * 30 + 30);
  EXPECT_EQ(linear.backward_flops, 2 * (2 * 20 * 30) + 30) << "weights' and inputs' gradient";
  EXPECT_EQ(linear.activation_bytes, 30 * 4);

  const Conv2d op{.out_channels = 8, .kernel = 3, .stride = 2, .padding = 1, .groups = 2, .bias = true};
  const LayerCost conv = cost_after_trained({4, 10, 12}, op);  // -> 8x5x6
  EXPECT_EQ(conv.parameters, 8 * 2 * 9 + 8);
  EXPECT_EQ(conv.forward_flops, 2 * (8 * 5 * 6) * 2 * 9 + 8 * 5 * 6);
  EXPECT_EQ(conv.backward_flops, 2 * 2 * (8 * 5 * 6) * 2 * 9 + 8 * 5 * 6);
  EXPECT_EQ(conv.activation_bytes, 8 * 5 * 6 * 4);
}

TEST(Cost, TheFirstLayerNeedsNoInputGradient) {
  Network network("net", {20});
  network.add("flatten", Flatten{});
  network.add("drop", Dropout{});
  network.add("fc", Linear{.out_features = 30, .bias = false});
  const auto costs = layer_costs(network);
  EXPECT_EQ(costs.back().backward_flops, 2 * 20 * 30);
  EXPECT_EQ(costs[2].backward_flops, 0) << "nothing trained comes before the dropout";
}

TEST(Cost, FrozenLayersHaveNoGradientOfTheirWeights) {
  Network network("net", {20});
  network.add("a", Linear{.out_features = 30, .bias = false});
  network.add("b", Linear{.out_features = 40, .bias = false});
  network.add("c", Linear{.out_features = 50, .bias = false});
  Network frozen = network;
  frozen.freeze({"b.weight"});
  EXPECT_EQ(layer_costs(frozen)[2].backward_flops, 2 * 30 * 40) << "of the inputs alone";
  EXPECT_EQ(total_cost(frozen).parameters, 20 * 30 + 40 * 50);
  frozen.freeze({"a.weight"});
  EXPECT_EQ(layer_costs(frozen)[1].backward_flops, 0);
  EXPECT_EQ(layer_costs(frozen)[2].backward_flops, 0);
  EXPECT_EQ(layer_costs(frozen)[3].backward_flops, 2 * 40 * 50) << "of the weights alone";
  EXPECT_EQ(training_memory(network).per_sample_bytes - training_memory(frozen).per_sample_bytes, (20 + 30) * 4)
      << "what only frozen layers read is not kept";
}

TEST(Cost, CheapLayersCountPerValue) {
  EXPECT_EQ(cost_after_trained({2, 3, 4}, BatchNorm{}).forward_flops, 6 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, BatchNorm{}).parameters, 4);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, Activation{}).forward_flops, 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, Activation{ActivationKind::kTanh}).forward_flops, 4 * 24);
  EXPECT_EQ(cost_after_trained({2, 4, 4}, MaxPool{}).forward_flops, 8 * 3) << "three comparisons for the best of four";
  EXPECT_EQ(cost_after_trained({2, 4, 4}, GlobalAveragePool{}).forward_flops, 32);
  EXPECT_EQ(cost_after_trained({2, 4, 4}, Flatten{}).forward_flops, 0);
  EXPECT_EQ(cost_after_trained({2, 4, 4}, SubsamplePad{.out_channels = 4}).forward_flops, 0);
  EXPECT_EQ(cost_after_trained({2, 4, 4}, AveragePool{.kernel = {2, 4}}).forward_flops, 2 * 2 * 1 * 8) << "means of 8";
  EXPECT_EQ(cost_after_trained({2, 4, 4}, MaxPool{.kernel = {2, 4}}).forward_flops, 2 * 2 * 1 * 7);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, PRelu{}).forward_flops, 2 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, PRelu{}).backward_flops, 4 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, PRelu{}).parameters, 2);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, Activation{ActivationKind::kSilu}).forward_flops, 5 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, Activation{ActivationKind::kHardSwish}).forward_flops, 5 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, Activation{ActivationKind::kHardSigmoid}).forward_flops, 4 * 24);
  EXPECT_EQ(cost_after_trained({2, 3, 4}, StochasticDepth{}).forward_flops, 24);
  Network network("net", {2, 3, 4});
  network.add("bn", BatchNorm{});
  network.add("sum", Add{}, {0, 1, 1});
  EXPECT_EQ(layer_costs(network).back().forward_flops, 2 * 24);
  network.add("concat", Concat{}, {1, 2});
  EXPECT_EQ(layer_costs(network).back().forward_flops, 0);
  network.add("product", Multiply{}, {1, 2});
  EXPECT_EQ(layer_costs(network).back().forward_flops, 24);
  EXPECT_EQ(layer_costs(network).back().backward_flops, 2 * 24);
  network.add("pool", GlobalAveragePool{}, {1});
  network.add("scaled", Multiply{}, {5, 1});
  EXPECT_EQ(layer_costs(network).back().forward_flops, 24);
  EXPECT_EQ(layer_costs(network).back().backward_flops, 3 * 24) << "and the sum over the pixels";
}

TEST(Cost, WindowsMayDifferAlongBothSides) {
  Network network("net", {4, 10, 12});
  network.add("conv", Conv2d{.out_channels = 8, .kernel = {1, 7}, .padding = {0, 3}});
  EXPECT_EQ(forward_macs(network), (8 * 10 * 12) * 4 * 7);
  EXPECT_EQ(layer_costs(network).back().forward_flops, 2 * (8 * 10 * 12) * 4 * 7);
}

TEST(Cost, TotalsAreSums) {
  const Network network = build("mlp:784-256-10", {});
  const LayerCost total = total_cost(network);
  EXPECT_EQ(total.parameters, 784 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(total.forward_flops, 2 * 784 * 256 + 256 + 256 + 2 * 256 * 10 + 10);
  EXPECT_EQ(forward_macs(network), 784 * 256 + 256 * 10);
  EXPECT_EQ(total.activation_bytes, 4 * (784 + 784 + 256 + 256 + 10));
  const LayerCost resnet = total_cost(build("resnet34", {}));
  const double ratio = static_cast<double>(resnet.backward_flops) / static_cast<double>(resnet.forward_flops);
  EXPECT_NEAR(ratio, 2, 0.05) << "backward costs about twice as much as forward";
}

// Bytes per further sample that autograd keeps for backward (torch 2.11, saved_tensors_hooks over 2 and 3 samples,
// without the loss's logits and labels); ours adds the gradients of the widest layer: bn1 of a ResNet, layer 0 of the
// perceptron.
TEST(Cost, TrainingMemoryIsWhatPyTorchKeeps) {
  constexpr std::int64_t kLoss = 9 * 4 + 8;
  constexpr std::int64_t kWidest = 2 * 64 * 112 * 112 * 4;
  const ModelOptions options{.input = Shape{3, 224, 224}, .classes = 9};
  EXPECT_EQ(training_memory(build("resnet18", options)).per_sample_bytes, 22'179'884 - kLoss + kWidest);
  EXPECT_EQ(training_memory(build("resnet34", options)).per_sample_bytes, 32'215'084 - kLoss + kWidest);
  EXPECT_EQ(training_memory(build("mlp:784-256-10:sigmoid", {})).per_sample_bytes,
            4208 - (10 * 4 + 8) + (784 + 256) * 4);
}

TEST(Cost, FixedMemoryIsWeightsGradientsMomentumAndStatistics) {
  Network network("net", {2, 3, 3});
  network.add("bn", BatchNorm{});
  const TrainingMemory memory = training_memory(network);
  EXPECT_EQ(memory.weight_bytes, 4 * 4);
  EXPECT_EQ(memory.buffer_bytes, (2 + 2 + 1) * 4);
  EXPECT_EQ(memory.fixed_bytes(1), 3 * 4 * 4 + 5 * 4);
}

TEST(Cost, MemoryOfInferenceIsWeightsAndWhatIsStillToBeRead) {
  Network network("net", {2, 4, 4});
  const int first = network.add("first", Conv2d{.out_channels = 8, .kernel = 1, .bias = true});
  network.add("second", Conv2d{.out_channels = 4, .kernel = 1});
  network.add("third", Conv2d{.out_channels = 8, .kernel = 1});
  network.add("sum", Add{}, {first, 3});
  const InferenceMemory memory = inference_memory(network);
  EXPECT_EQ(memory.weight_bytes, 4 * (2 * 8 + 8 + 8 * 4 + 4 * 8));
  EXPECT_EQ(memory.per_sample_bytes, 4 * 16 * (8 + 8 + 8)) << "at the sum; the image and the second were read before";
}

TEST(Cost, TrainingKeepsADropoutsMask) {
  const auto with_between = [](const Op& op) {
    Network network("net", {2, 3, 4});
    network.add("bn", BatchNorm{});
    network.add("between", op);
    network.add("last", BatchNorm{});
    return training_memory(network).per_sample_bytes;
  };
  EXPECT_EQ(with_between(Dropout{}) - with_between(Scale{.factor = 2}), 24 * 4) << "a factor for each value";
}

}  // namespace
}  // namespace evener::network
