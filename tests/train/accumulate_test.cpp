// Batches that are computed in parts (--accumulate): several replicas learn from the same micro-batches as one does.
// Batch-norm that takes each replica's samples alone (--batch-norm local).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/module.h"
#include "base/relative_distance.h"
#include "base/test_folder.h"
#include "train/steps/checkpoint.h"
#include "train/steps/trial.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using test::cpu_replicas;
using test::relative_distance;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

/// Is told the notes of the setup.
class Told : public TrainObserver {
 public:
  void on_setup(const TrainSetup& setup, const TrainOptions&) override { notes = setup.notes; }
  std::vector<std::string> notes;
};

class AccumulateTest : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
    options_.model = "resnet20";
    options_.engine = "torch";
    options_.data.location = "synth:masks:40";
    options_.data.width = options_.data.height = 16;
    options_.data.split = {60, 40};
    options_.batch = 11;  // 22 images or so to train on: the last batch may be short
    options_.accumulate = 4;
    options_.epochs = 2;
    // The weights stay where they are, so that the momentum is a sum of gradients at one point: an untrained ResNet
    // magnifies the rounding of a step.
    options_.learning_rate = 1e-8;
    options_.trainer.optimizer.momentum = 0.9;
    options_.plan = cpu_replicas(1);
    options_.out = folder_.path();
  }

  /// The momentum after the run.
  TensorMap gradients(int replicas) {
    options_.plan = cpu_replicas(replicas);
    EXPECT_EQ(test::train(options_).status, record::Status::kDone);
    return load_last(folder_.path()).optimizer_state;
  }

  TrainOptions options_;
  test::TestFolder folder_;
};

// Rounding gives 10^-3 and less. Micro-batches that each replica cuts out of its own share give more than 0.1, as a
// lone replica's do that are cut otherwise.
TEST_F(AccumulateTest, EveryNumberOfReplicasSeesTheSameMicroBatches) {
  const TensorMap alone = gradients(1);
  EXPECT_LT(relative_distance(gradients(2), alone), 0.02);
  EXPECT_LT(relative_distance(gradients(3), alone), 0.02);
  options_.accumulate = 3;
  EXPECT_GT(relative_distance(gradients(1), alone), 0.1);
}

// Whole batches of 25 and a last one of 2, of which each replica has one image and so nothing of its second part.
TEST_F(AccumulateTest, APartMayBeEmptyOnAll) {
  options_.data.location = "synth:masks:54";
  options_.data.split = {50, 50};
  options_.batch = 25;
  options_.accumulate = 2;
  options_.epochs = 1;
  options_.plan = cpu_replicas(2);
  const TrainResult result = test::train(options_);
  EXPECT_EQ(result.status, record::Status::kDone);
  EXPECT_EQ(result.replicas.at(0).samples + result.replicas.at(1).samples, 27);
}

TEST_F(AccumulateTest, LocalBatchNormGivesNobodyASingleImageOfAPart) {
  options_.data.width = options_.data.height = 4;  // the last layers see one pixel
  options_.local_batch_norm = true;
  EXPECT_FALSE(gradients(3).empty());
}

TEST_F(AccumulateTest, TheNotesSayThatBatchNormSeesParts) {
  Told told;
  test::train(options_, told);
  EXPECT_THAT(told.notes, Contains(HasSubstr("changes what is learnt (--accumulate 4)")));
  options_.accumulate = 1;
  test::train(options_, told);
  EXPECT_THAT(told.notes, Each(Not(HasSubstr("--accumulate"))));
}

// Trials take batches of other sizes than the run; all of them have to be cut so that batch-norm can take the parts.
TEST_F(AccumulateTest, TrialsTakeWhatTheRunTakes) {
  options_.data.width = options_.data.height = 4;
  options_.data.location = "synth:masks:120";
  options_.batch = 33;  // a third of it, 11, is tried too
  options_.accumulate = 16;
  std::size_t sizes = 0;
  TrainObserver observer;
  const PreparedTraining training(options_, observer);
  const Trials trials(training);
  for (const int replicas : {1, 2}) {
    const placement::Plan plan = cpu_replicas(replicas);
    EXPECT_EQ(trials.refusal(plan), "");
    sizes += trials.run(plan, /*seconds=*/0.3).sizes.size();
  }
  EXPECT_GE(sizes, 2U);
}

// The mean over the whole batch is that of the replicas' means, each weighed by its samples. In one step, and in the
// first layer, nothing else differs from one replica's mean.
TEST(LocalBatchNorm, StatisticsAreAveragedBySamples) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  const test::TestFolder folder;
  TrainOptions options;
  options.model = "resnet20";
  options.engine = "torch";
  options.data.location = "synth:masks:20";
  options.data.width = options.data.height = 16;
  options.data.split = {80, 20};
  options.batch = 20;  // an epoch is one step
  options.epochs = 1;
  options.out = folder.path();
  options.plan = test::cpu_replicas(1);
  const auto first_means = [&]() -> TensorMap {
    test::train(options);
    return {{"mean", load_last(folder.path()).state.at("bn1.running_mean")}};
  };
  const TensorMap whole = first_means();
  options.local_batch_norm = true;
  options.plan = test::cpu_replicas(2);
  options.plan.replicas[0].share = 3;
  EXPECT_LT(test::relative_distance(first_means(), whole), 1e-5);
}

}  // namespace

}  // namespace evener::training
