// The memory of a step from moment to moment, against schedules written out by hand.
#include "network/step_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace evener::network {
namespace {

/// What each sample adds where there are many.
std::int64_t per_sample_bytes(const StepMemory& memory) {
  return memory.peak_bytes(1'000'001) - memory.peak_bytes(1'000'000);
}

/// 12 values in, 5 and 3 out; weights of 65 and 18 values.
Network perceptron(ActivationKind kind = ActivationKind::kSigmoid) {
  Network network("mlp", {12});
  network.add("first", Linear{.out_features = 5});
  network.add("function", Activation{kind});
  network.add("second", Linear{.out_features = 3});
  return network;
}

// Per sample: the input (12) and the function's result (5, which overwrites what it reads) wait for the backward pass.
// While the second layer's gradient by its input (5) is made, the gradient of its scores (3) is there, and afterwards
// that of its weights (18). The function's makes another 5. The first layer needs none of its input.
TEST(StepMemory, IsThatOfAPerceptronByHand) {
  const StepMemory memory(perceptron());
  // 12 + 5 + scores 3 + their logarithms and gradients 9: the most of any sample.
  EXPECT_EQ(per_sample_bytes(memory), 4 * (12 + 5 + 3 + 9));
  EXPECT_EQ(memory.peak_bytes(1000), 1000 * 4 * (12 + 5 + 3 + 9));
  // Of one sample the most is at the end, with all gradients of weights and that by the first layer's result.
  EXPECT_EQ(memory.peak_bytes(1), 4 * (12 + 5 + 18 + 65));
}

// Of a later part of a batch: all gradients of weights (18 + 65) are there from the start, and each layer's own is
// made before it is added to them.
TEST(StepMemory, OfALaterPartOfABatchHasTheGradientsOfTheEarlierOnes) {
  const StepMemory memory(perceptron(), {.adds_up = true});
  EXPECT_EQ(memory.peak_bytes(1000), 1000 * 4 * (12 + 5 + 3 + 9) + 4 * (18 + 65));
  EXPECT_EQ(memory.peak_bytes(1), 4 * (12 + 5 + 18 + 65 + 65));
}

TEST(StepMemory, ValuesOfHalfTheBitsTakeHalf) {
  Network network("conv", {2, 8, 8});
  network.add("conv", Conv2d{.out_channels = 16, .kernel = 3, .padding = 1});
  network.add("norm", BatchNorm{});
  network.add("relu", Activation{});
  network.add("next", Conv2d{.out_channels = 16, .kernel = 3, .padding = 1});
  network.add("pool", GlobalAveragePool{});
  network.add("flat", Flatten{});
  network.add("fc", Linear{.out_features = 2});
  const std::int64_t wide = per_sample_bytes(StepMemory(network));
  // Input (128), the results of both convolutions and of the norm with its ReLU (1024 each), and one of the gradients
  // on the way back: by the second convolution's result and by its input at a time.
  EXPECT_EQ(wide, 4 * (128 + 1024 + 1024 + 1024 + 1024));
  EXPECT_EQ(per_sample_bytes(StepMemory(network, {.bits = 16})), wide / 2);
}

TEST(StepMemory, AResidualSumKeepsItsResultAndPassesItsGradientOn) {
  const auto with_sum = [](bool has_sum) {
    Network network("block", {4, 4, 4});
    const int first = network.add("first", Conv2d{.out_channels = 4});
    network.add("conv", Conv2d{.out_channels = 4});
    const int norm = network.add("norm", BatchNorm{});
    if (has_sum) network.add("sum", Add{}, {norm, first});
    network.add("relu", Activation{});
    network.add("last", Conv2d{.out_channels = 4});
    network.add("flat", Flatten{});
    network.add("fc", Linear{.out_features = 1});
    return per_sample_bytes(StepMemory(network));
  };
  // Kept are the input, the results of both convolutions, of the ReLU and the flattened one: 64 values each. Without
  // the sum the most is where the last layer's gradient by its input is made: these, that and the gradient of its
  // score.
  EXPECT_EQ(with_sum(false), 4 * (5 * 64 + 64 + 1));
  // With it, where the norm's two gradients are: the flattened result has gone, and what came back is still there.
  EXPECT_EQ(with_sum(true), 4 * (4 * 64 + 3 * 64));
}

TEST(StepMemory, PoolingKeepsThePlacesOfItsMaxima) {
  const auto with = [](const Op& pool) {
    Network network("pool", {1, 8, 8});
    network.add("conv", Conv2d{.out_channels = 4, .kernel = 3, .padding = 1});
    network.add("pool", pool);
    network.add("next", Conv2d{.out_channels = 64, .kernel = 1});
    network.add("average", GlobalAveragePool{});
    network.add("flat", Flatten{});
    network.add("fc", Linear{.out_features = 2});
    return per_sample_bytes(StepMemory(network));
  };
  EXPECT_EQ(with(MaxPool{}) - with(AveragePool{}), 8 * 4 * 4 * 4) << "a number of 8 bytes for each";
}

TEST(StepMemory, FrozenLayersBeforeAllOthersKeepNothing) {
  Network network = perceptron(ActivationKind::kTanh);
  network.freeze({"first.weight", "first.bias"});
  // Input and first result together, then what the second layer keeps with scores and loss.
  EXPECT_EQ(per_sample_bytes(StepMemory(network)), 4 * std::max(12 + 5, 5 + 3 + 9));
}

}  // namespace
}  // namespace evener::network
