// Networks divided over stages ('..' in placements) learn what an undivided one learns.
#include <gmock/gmock.h>

#include "base/module.h"
#include "base/relative_distance.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "train/steps/checkpoint.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// So many replicas of so many stages, as threads of this process.
placement::Plan staged(int replicas, int stages) {
  placement::Plan plan;
  plan.text = "staged";
  plan.processes.emplace_back();
  for (int replica = 0; replica < replicas; ++replica) {
    plan.replicas.push_back(
        {replica, std::vector<placement::PlanStage>(static_cast<std::size_t>(stages)), 1.0 / replicas});
  }
  for (int rank = 0; rank < replicas * stages; ++rank) plan.processes[0].ranks.push_back(rank);
  return plan;
}

/// Sums over micro-batches are added in another order than those over a batch, each of which rounds by 6e-8 at most.
/// Weights were 1e-8 apart after 6 steps and 2e-8 after 21 with one processor's kernels, and those of others add in
/// orders of their own.
constexpr double kOtherOrder = 1e-5;
/// The same numbers are added in the same order. No bit differed where it was tried; a few roundings are let pass, for
/// kernels that choose their order by what memory and threads they find.
constexpr double kSameOrder = 1e-6;

class Stages : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
    options_.engine = "torch";
    options_.data.split = {80, 10};
    options_.batch = 12;  // of 35 images: an epoch ends with a batch of 11
    options_.epochs = 7;  // 21 steps
    options_.trainer.optimizer.momentum = 0.9;
    options_.learning_rate = 0.01;
    options_.out = folder_.path();
  }

  void train_perceptron() {
    options_.model = "mlp:784-32-24-16-10";
    options_.data.location = "synth:digits:44";
  }
  void train_on_small_images(const std::string& model) {
    options_.model = model;
    options_.data.location = "synth:masks:44";
    options_.data.width = options_.data.height = 16;
  }

  TensorMap weights_on(const placement::Plan& plan) {
    options_.plan = plan;
    result_ = test::train(options_);
    return load_last(folder_.path()).state;
  }

  /// The weights of stages differ from those of undivided replicas by no more than rounding.
  void expect_equal_weights(double tolerance) {
    for (const auto& [replicas, most_stages] : {std::pair(1, 4), std::pair(2, 2)}) {
      const TensorMap whole = weights_on(staged(replicas, 1));
      const double loss = *result_.epochs.back().val_loss;
      for (int stages = 2; stages <= most_stages; ++stages) {
        SCOPED_TRACE(std::to_string(replicas) + "x" + std::to_string(stages));
        EXPECT_LE(test::relative_distance(weights_on(staged(replicas, stages)), whole), tolerance);
        EXPECT_NEAR(*result_.epochs.back().val_loss, loss, 100 * tolerance * loss);
      }
    }
  }

  std::string refusal() {
    return test::thrown_by([&] { test::train(options_); }, "accepted");
  }

  const test::TestFolder folder_;
  TrainOptions options_;
  TrainResult result_;
};

TEST_F(Stages, APerceptronLearnsTheSame) {
  train_perceptron();
  expect_equal_weights(kOtherOrder);
}

// Whole batches pass, so that each layer computes what it does in one piece.
TEST_F(Stages, AResidualNetworkLearnsTheSame) {
  train_on_small_images("resnet20");
  expect_equal_weights(kSameOrder);
}

TEST_F(Stages, ANetworkWithDropoutLearnsTheSame) {
  train_on_small_images("mobilenet_v2");
  expect_equal_weights(kSameOrder);
}

TEST_F(Stages, ADeepResidualNetworkLearnsTheSame) {
  train_on_small_images("resnet34");
  options_.data.location = "synth:masks:312";  // 21 batches: one checkpoint instead of seven
  options_.epochs = 1;
  const TensorMap whole = weights_on(staged(1, 1));
  for (int stages = 2; stages <= 4; ++stages) {
    SCOPED_TRACE(stages);
    EXPECT_LE(test::relative_distance(weights_on(staged(1, stages)), whole), kSameOrder);
  }
}

// The norm is that of all stages' gradients together.
TEST_F(Stages, GradientsAreClippedByTheirNormOverAllStages) {
  train_perceptron();
  options_.epochs = 2;
  const TensorMap free = weights_on(staged(1, 1));
  options_.trainer.optimizer.clip_norm = 0.5;
  const TensorMap whole = weights_on(staged(1, 1));
  EXPECT_GT(test::relative_distance(whole, free), 1e-3) << "it clips";
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 3)), whole), kOtherOrder);
  EXPECT_LE(test::relative_distance(weights_on(staged(2, 2)), whole), kOtherOrder);
}

// A rate of 0.1 for all but the last layer, and some of it frozen: each stage knows the share of its own layers.
TEST_F(Stages, TheBackboneLearnsAtItsShareOfTheRate) {
  train_on_small_images("resnet20");
  options_.epochs = 2;
  const TensorMap alike = weights_on(staged(1, 1));
  options_.backbone_rate = 0.1;
  options_.freeze = {"conv1.weight"};
  const TensorMap whole = weights_on(staged(1, 1));
  EXPECT_GT(test::relative_distance(whole, alike), 0.01) << "the share moves the weights";
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 3)), whole), kSameOrder);
  EXPECT_LE(test::relative_distance(weights_on(staged(2, 2)), weights_on(staged(2, 1))), kSameOrder);
}

TEST_F(Stages, TakeOverWhatDoesntFitIntoOneMemory) {
  train_perceptron();
  options_.model = "mlp:784-640-640-10";  // 10.9 MB, of which 6 are of the first layer
  options_.epochs = 1;
  options_.plan = staged(1, 1);
  options_.stage_memory_bytes = 9'000'000;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("doesn't fit into the 9 MB that --memory gives each device"),
                               HasSubstr("divided over 2 stages")));
  options_.cut = {"2"};
  weights_on(staged(1, 2));
  EXPECT_EQ(result_.stages.size(), 2u);
  options_.stage_memory_bytes = 2'000'000;
  options_.plan = staged(1, 2);
  EXPECT_THAT(refusal(), HasSubstr("stage "));
}

/// As on GPUs: values, targets and masks go to a device and come back, and gradients lie on the host where replicas
/// exchange them.
TEST_F(Stages, OnDevicesLearnTheSame) {
  train_perceptron();
  options_.epochs = 2;
  options_.trainer.optimizer.clip_norm = 0.5;
  const TensorMap whole = weights_on(staged(1, 1));
  options_.trainer.torch.like_accelerator = true;
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 3)), whole), kOtherOrder);
  EXPECT_LE(test::relative_distance(weights_on(staged(2, 2)), whole), kOtherOrder);
  options_.pipeline_schedule = parallel::PipelineSchedule::kZeroBubble;
  EXPECT_LE(test::relative_distance(weights_on(staged(2, 2)), whole), kOtherOrder);
}

TEST_F(Stages, OfImagesOnDevicesLearnTheSame) {
  train_on_small_images("mobilenet_v2");
  options_.data.width = options_.data.height = 64;  // no layer has single pixels, which LibTorch sums in another order
  options_.epochs = 1;
  options_.augment.mixup = 0.4;
  options_.trainer.torch.like_accelerator = true;  // with LibTorch's kernels, which round otherwise than ours
  const TensorMap whole = weights_on(staged(1, 1));
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 2)), whole), kSameOrder);
}

TEST_F(Stages, OnDevicesTakeTheirImagesBatchByBatch) {
  train_perceptron();
  options_.plan = staged(1, 2);
  options_.plan.replicas[0].stages[0].device.kind = DeviceKind::kCuda;
  options_.data_on_device = true;
  EXPECT_THAT(refusal(), HasSubstr("leave out --data-on device"));
}

TEST_F(Stages, GPipeLearnsTheSame) {
  train_perceptron();
  const TensorMap whole = weights_on(staged(1, 1));
  options_.pipeline_schedule = parallel::PipelineSchedule::kGPipe;
  options_.micro_batches = 5;
  EXPECT_LT(test::relative_distance(weights_on(staged(1, 3)), whole), kOtherOrder);
  EXPECT_EQ(result_.stages.at(2).most_kept, 5);
}

// Gradients are of the same numbers and are added in the same order, whether those of the weights come later or not.
TEST_F(Stages, ASplitBackwardPassLearnsTheSame) {
  options_.micro_batches = 4;
  options_.epochs = 3;
  const auto expect_same = [this](double tolerance, const std::vector<std::pair<int, int>>& divisions) {
    for (const auto& [replicas, stages] : divisions) {
      SCOPED_TRACE(std::to_string(replicas) + "x" + std::to_string(stages));
      options_.pipeline_schedule = parallel::PipelineSchedule::k1F1B;
      const TensorMap whole = weights_on(staged(replicas, stages));
      options_.pipeline_schedule = parallel::PipelineSchedule::kZeroBubble;
      EXPECT_LE(test::relative_distance(weights_on(staged(replicas, stages)), whole), tolerance);
      for (const parallel::StageWork& work : result_.stages) {
        EXPECT_GT(work.weights_s, 0);
        EXPECT_LE(work.most_kept, stages);
      }
    }
  };
  train_perceptron();
  expect_same(kSameOrder, {{1, 2}, {1, 3}, {2, 2}});
  options_.local_batch_norm = true;
  options_.trainer.torch.convolution = engine::ConvolutionChoice::kWinograd;
  options_.epochs = 1;
  train_on_small_images("resnet20");
  expect_same(kSameOrder, {{1, 3}, {2, 2}});
  options_.trainer.torch.convolution = engine::ConvolutionChoice::kAuto;
  options_.trainer.precision = Precision::kBf16;
  options_.micro_batches = 2;
  train_on_small_images("mobilenet_v2");
  expect_same(1e-3, {{1, 2}});
}

// The values that a stage still waits for never come.
TEST_F(Stages, ThatFailAsThreadsEndAtOnce) {
  train_on_small_images("mobilenet_v2");  // its last pixel alone has no variance
  options_.local_batch_norm = true;
  options_.micro_batches = 12;
  options_.plan = staged(1, 2);
  EXPECT_THAT(refusal(), HasSubstr("batch"));
}

TEST_F(Stages, ASplitBackwardPassLeavesFrozenLayersAlone) {
  train_perceptron();
  options_.freeze = {"0.weight", "2.*"};
  options_.micro_batches = 3;
  const TensorMap whole = weights_on(staged(1, 2));
  options_.pipeline_schedule = parallel::PipelineSchedule::kZeroBubble;
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 2)), whole), kSameOrder);
}

TEST_F(Stages, MicroBatchesThatAreKeptAreNoMoreThanTheStagesToCome) {
  train_perceptron();
  options_.micro_batches = 6;
  weights_on(staged(1, 3));
  ASSERT_EQ(result_.stages.size(), 3u);
  for (int stage = 0; stage < 3; ++stage) {
    const parallel::StageWork& work = result_.stages[static_cast<std::size_t>(stage)];
    EXPECT_EQ(work.most_kept, 3 - stage);
    EXPECT_EQ(work.micro_batches, 6 * work.steps);
    EXPECT_LE(work.forward_s + work.backward_s, work.step_s);
  }
}

TEST_F(Stages, ARunGoesOnWithTheSameBits) {
  train_perceptron();
  options_.epochs = 4;
  const TensorMap whole = weights_on(staged(1, 3));
  const test::TestFolder other;
  options_.out = other.path();
  options_.epochs = 2;
  test::train(options_);
  options_.epochs = 4;
  options_.resume = true;
  test::train(options_);
  EXPECT_EQ(load_last(other.path()).state, whole);
}

TEST_F(Stages, LocalBatchNormTakesEachMicroBatchAlone) {
  train_on_small_images("resnet20");
  options_.epochs = 1;
  options_.batch = 35;  // an epoch is one step
  options_.local_batch_norm = true;
  options_.micro_batches = 5;
  const TensorMap state = weights_on(staged(1, 2));
  const HostTensor& batches = state.at("bn1.num_batches_tracked");
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(batches.bytes.data()), 5);
}

TEST_F(Stages, ALayerThatIsNamedBeginsTheNextStage) {
  train_on_small_images("resnet20");
  options_.epochs = 1;
  options_.cut = {"layer3"};
  weights_on(staged(1, 2));
  options_.cut = {"layer2", "layer3"};
  EXPECT_THAT(refusal(), HasSubstr("has 1"));
}

TEST_F(Stages, OneOfThemMayHaveNothingToLearn) {
  train_on_small_images("resnet20");
  options_.epochs = 1;
  options_.freeze = {"conv1*", "bn1*", "layer1*"};
  options_.cut = {"layer2"};
  const TensorMap whole = weights_on(staged(1, 1));
  EXPECT_LE(test::relative_distance(weights_on(staged(1, 2)), whole), kSameOrder);
}

TEST_F(Stages, WhatTheyCannotDoIsRefused) {
  train_perceptron();
  options_.plan = staged(1, 2);
  options_.accumulate = 2;
  EXPECT_THAT(refusal(), HasSubstr("--micro-batches instead"));
  options_.accumulate = 1;
  options_.micro_batches = 13;
  EXPECT_THAT(refusal(), HasSubstr("has 12 samples"));
  options_.micro_batches = 2;
  train_on_small_images("resnet20");
  EXPECT_THAT(refusal(), HasSubstr("--batch-norm local"));
}

// 35 images to train on. Batch-norm takes the statistics of a whole batch, to which each replica brings a share.
TEST_F(Stages, ALastBatchOfFewerImagesThanReplicasIsRefused) {
  train_on_small_images("resnet20");
  const auto refusal_of = [&](int replicas, std::int64_t batch) -> std::string {
    options_.plan = staged(replicas, 2);
    options_.batch = batch;
    TrainObserver observer;
    return test::thrown_by([&] { look_at(options_, observer); }, "");
  };
  EXPECT_THAT(refusal_of(2, 17), HasSubstr("has 1 of 35 images, fewer than the 2 replicas"));
  EXPECT_THAT(refusal_of(3, 11), HasSubstr("has 2 of 35 images, fewer than the 3 replicas"));
  EXPECT_EQ(refusal_of(2, 11), "") << "one image for each";
  EXPECT_EQ(refusal_of(2, 7), "") << "no rest";
  EXPECT_EQ(refusal_of(1, 17), "");
  options_.local_batch_norm = true;
  EXPECT_EQ(refusal_of(2, 17), "") << "each takes its own statistics";
  options_.micro_batches = 9;
  EXPECT_THAT(refusal_of(2, 17), testing::Not(HasSubstr("--micro-batches")));
  options_.micro_batches = 10;
  EXPECT_THAT(refusal_of(2, 17), HasSubstr("--micro-batches 10: a replica's share of a batch has 9 samples"));
}

}  // namespace
}  // namespace evener::training
