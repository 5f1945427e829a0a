// Convolutions of stages, which keep weights in other orders while a step lasts, against LibTorch's own for images with
// their channels first.
#include <gtest/gtest.h>

#include "base/module.h"
#include "engine/batches_helpers.h"
#include "network/init.h"
#include "network/passes/cut.h"

namespace evener::engine {
namespace {

const data::ImageShape kShape{3, 12, 10};
constexpr int kClasses = 5;

/// Convolutions of every kind: few and many pixels for each channel, strides, windows that aren't square, paddings that
/// are smaller and larger than the windows. The activations are smooth. One of ten thousand ReLUs, at which a value of
/// 1e-7 has one sign or the other by how a processor rounds, would change the gradients by 0.005.
network::Network many_convolutions() {
  network::Network network("many_convolutions", {kShape.channels, kShape.height, kShape.width});
  network.add("conv0", network::Conv2d{.out_channels = 16, .kernel = 3, .padding = 1});
  network.add("conv1", network::Conv2d{.out_channels = 40, .kernel = 3, .stride = {2, 1}, .padding = 1});
  network.add("bn1", network::BatchNorm{});
  network.add("silu1", network::Activation{network::ActivationKind::kSilu});
  network.add("conv2", network::Conv2d{.out_channels = 48, .kernel = {1, 5}, .padding = {0, 2}});
  network.add("bn2", network::BatchNorm{});
  network.add("winograd", network::Conv2d{.out_channels = 32, .kernel = 3, .padding = 1});
  network.add("conv3", network::Conv2d{.out_channels = 72, .kernel = 3, .padding = 0});
  network.add("silu3", network::Activation{network::ActivationKind::kSilu});
  network.add("conv4", network::Conv2d{.out_channels = 35, .kernel = 1, .padding = 1});
  network.add("conv5", network::Conv2d{.out_channels = 64, .kernel = 2, .stride = 2});
  network.add("pool", network::GlobalAveragePool{});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{kClasses, true});
  return network;
}

TrainerOptions with(Precision precision, ConvolutionChoice choice = ConvolutionChoice::kDirect) {
  TrainerOptions options;
  options.precision = precision;
  options.torch.convolution = choice;
  return options;
}

/// The whole network in LibTorch's own convolutions.
std::unique_ptr<Trainer> whole_trainer(const network::Network& network) {
  TrainerOptions options = with(Precision::kFp32);
  options.torch.layout = MemoryLayout::kChannelsFirst;
  return test::make_trainer(network, options);
}

/// Two stages that are driven from here.
class Stages {
 public:
  Stages(const network::Network& network, Precision precision, bool splits,
         ConvolutionChoice choice = ConvolutionChoice::kDirect)
      : splits_(splits), state_(network::initial_state(network, 1)) {
    const auto parts = network::cut(network, network::begins_of(network, {"conv2"}));
    for (int i = 0; i < 2; ++i) {
      TrainerOptions options = with(precision, choice);
      options.stage = {i, 2, splits, /*micro_batches=*/2};
      trainers_.push_back(test::make_trainer(parts[static_cast<std::size_t>(i)].network, options, state_));
    }
  }

  /// The gradients of two micro-batches, both of which are forward before the first is backward.
  TensorMap gradients(const test::OwnedBatch& batch) {
    for (const auto& trainer : trainers_) trainer->clear_gradients();
    TrainsStage &first = *trainers_[0]->capabilities().stage, &last = *trainers_[1]->capabilities().stage;
    const std::vector<data::Batch> parts = {batch.view(0, 3), batch.view(3, 5)};
    std::vector<TrainsStage::Passed> passed;
    for (int i = 0; i < 2; ++i) passed.push_back(first.forward_stage(i, parts.at(static_cast<std::size_t>(i)), {}));
    for (int i = 0; i < 2; ++i) {
      const auto number = static_cast<std::size_t>(i);
      last.forward_stage(i, parts[number], std::move(passed[number].sent));
      first.backward_stage(i, last.backward_stage(i, {}, 0.2), 0);
    }
    for (int i = 0; i < 2 && splits_; ++i) {
      first.weights_stage(i);
      last.weights_stage(i);
    }
    TensorMap all = trainers_[0]->capabilities().exchange->gradients();
    all.merge(trainers_[1]->capabilities().exchange->gradients());
    return all;
  }
  void apply() {
    for (const auto& trainer : trainers_) trainer->apply(0.5);
  }
  void load(const TensorMap& state) {
    for (const auto& trainer : trainers_) trainer->load_state(state);
  }
  const TensorMap& first_state() const { return state_; }

 private:
  const bool splits_;
  const TensorMap state_;
  std::vector<std::unique_ptr<Trainer>> trainers_;
};

TensorMap gradients_of(Trainer& whole, const test::OwnedBatch& batch) {
  whole.clear_gradients();
  whole.add_gradients(batch.view(0, 3), 0.2);
  whole.add_gradients(batch.view(3, 5), 0.2);
  return whole.capabilities().exchange->gradients();
}

class StageConvolutions : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  }
  const test::OwnedBatch batch_ = test::random_batch(5, kShape, kClasses);
};

TEST_F(StageConvolutions, GradientsAreLibTorchsAndFollowTheWeights) {
  struct Case {
    bool splits;
    ConvolutionChoice choice;
    double within;
  };
  const network::Network network = many_convolutions();
  for (const Case& each :
       {Case{false, ConvolutionChoice::kDirect, 1e-5}, Case{true, ConvolutionChoice::kDirect, 1e-5},
        Case{false, ConvolutionChoice::kWinograd, 1e-4}, Case{true, ConvolutionChoice::kWinograd, 1e-4}}) {
    SCOPED_TRACE(testing::Message() << "splits: " << each.splits << ", within " << each.within);
    const auto whole = whole_trainer(network);
    Stages stages(network, Precision::kFp32, each.splits, each.choice);
    whole->load_state(stages.first_state());
    const TensorMap first = gradients_of(*whole, batch_);
    EXPECT_LT(test::relative_distance(stages.gradients(batch_), first), each.within);
    whole->apply(0.5);
    stages.apply();
    const TensorMap second = gradients_of(*whole, batch_);
    ASSERT_GT(test::relative_distance(second, first), 0.01) << "the step changed little";
    EXPECT_LT(test::relative_distance(stages.gradients(batch_), second), 10 * each.within) << "after a step";
    stages.load(stages.first_state());
    EXPECT_LT(test::relative_distance(stages.gradients(batch_), first), each.within) << "after loading weights";
  }
}

TEST_F(StageConvolutions, FrozenWeightsHaveNoGradientsAndTheOthersHaveTheSame) {
  const network::Network network = many_convolutions();
  network::Network frozen = network;
  frozen.freeze({"conv0.weight", "conv3.weight"});
  for (const bool splits : {false, true}) {
    TensorMap all = Stages(network, Precision::kFp32, splits).gradients(batch_);
    const TensorMap others = Stages(frozen, Precision::kFp32, splits).gradients(batch_);
    EXPECT_EQ(all.erase("conv0.weight") + all.erase("conv3.weight"), 2U);
    EXPECT_EQ(others, all);
  }
}

TEST_F(StageConvolutions, Bfloat16IsNearFloat32AndRepeatsItsBits) {
  const network::Network network = many_convolutions();
  const auto whole = whole_trainer(network);
  Stages stages(network, Precision::kBf16, false);
  whole->load_state(stages.first_state());
  const TensorMap wide = gradients_of(*whole, batch_), first = stages.gradients(batch_);
  EXPECT_LT(test::relative_distance(first, wide), 0.1);
  stages.load(stages.first_state());
  EXPECT_EQ(stages.gradients(batch_), first);
}

}  // namespace
}  // namespace evener::engine
