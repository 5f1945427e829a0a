// Runs on a device that is driven ahead of its results: what is told, recorded and saved is what a run tells that has
// each result at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/module.h"
#include "base/test_folder.h"
#include "measure/run/out_folder.h"
#include "train/steps/checkpoint.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Told : public TrainObserver {
 public:
  void on_step(const StepProgress& step) override { steps.push_back(step); }
  void on_epoch(const record::EpochRecord& epoch) override { epochs.push_back(epoch); }
  std::vector<StepProgress> steps;
  std::vector<record::EpochRecord> epochs;
};

struct Outcome {
  TrainResult result;
  Told told;
  TensorMap weights;
};

class AheadTest : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
    options_.model = "mlp:784-12-10";
    options_.engine = "torch";
    options_.data.location = "synth:digits:300";
    options_.batch = 16;  // 250 training images: the last batch of an epoch is short
    options_.epochs = 3;
    options_.learning_rate = 0.1;
    options_.trainer.optimizer.momentum = 0.5;
    options_.plan = test::cpu_replicas(1);
  }

  Outcome run(bool ahead) {
    Outcome outcome;
    options_.trainer.torch.like_accelerator = ahead;
    options_.out = folder_ / (ahead ? "ahead" : "plain");
    std::filesystem::create_directories(options_.out);
    outcome.result = test::train(options_, outcome.told);
    if (measure::has_checkpoint(options_.out)) outcome.weights = load_last(options_.out).state;
    return outcome;
  }

  TrainOptions options_;
  test::TestFolder folder_;
};

TEST_F(AheadTest, EpochsHaveAllTheirResults) {
  const Outcome plain = run(false), ahead = run(true);
  EXPECT_EQ(ahead.result.status, record::Status::kDone);
  ASSERT_EQ(ahead.told.epochs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(ahead.told.epochs[i].train_loss.value_or(0), plain.told.epochs[i].train_loss.value_or(1), 1e-4);
    EXPECT_NEAR(*ahead.told.epochs[i].train_accuracy, *plain.told.epochs[i].train_accuracy, 0.005);
    EXPECT_NEAR(ahead.told.epochs[i].val_loss.value_or(0), plain.told.epochs[i].val_loss.value_or(1), 1e-4);
  }
  // Steps are told when they are done, with images of their own, whatever is known of their losses.
  ASSERT_EQ(ahead.told.steps.size(), plain.told.steps.size());
  for (std::size_t i = 0; i < plain.told.steps.size(); ++i) {
    EXPECT_EQ(ahead.told.steps[i].step, plain.told.steps[i].step);
    EXPECT_EQ(ahead.told.steps[i].images, plain.told.steps[i].images);
  }
  EXPECT_EQ(ahead.result.replicas.at(0).samples, plain.result.replicas.at(0).samples);
  EXPECT_EQ(ahead.result.confusion.counts, plain.result.confusion.counts);
  EXPECT_EQ(ahead.result.confusion.part, "test");
  ASSERT_EQ(ahead.result.devices.size(), 1U);
  EXPECT_THAT(ahead.result.devices[0].notes, ElementsAre(HasSubstr("replayed as a graph")));
  EXPECT_TRUE(plain.result.devices.at(0).notes.empty());
}

TEST_F(AheadTest, TheStepThatDivergesIsNamed) {
  for (const double rate : {1e18, 1e6}) {  // at once, and after some steps
    options_.learning_rate = rate;
    const Outcome plain = run(false), ahead = run(true);
    EXPECT_EQ(ahead.result.status, record::Status::kDiverged);
    EXPECT_EQ(ahead.result.status_reason, plain.result.status_reason);
    EXPECT_THAT(ahead.result.status_reason, HasSubstr("the loss is not finite in epoch "));
    EXPECT_EQ(ahead.weights.empty(), plain.weights.empty());  // checkpoints are of before
  }
}

TEST_F(AheadTest, ACheckpointGoesOnAsTheWholeRun) {
  options_.epochs = 4;
  const Outcome whole = run(true);
  options_.epochs = 2;
  run(true);
  options_.epochs = 4;
  options_.resume = true;
  const Outcome rest = run(true);
  EXPECT_EQ(rest.result.epochs.size(), 4U);
  EXPECT_EQ(rest.weights, whole.weights);
}

}  // namespace
}  // namespace evener::training
