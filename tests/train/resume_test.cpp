// Runs that were stopped at a certain step and go on, and the weights that they hold for the best.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "base/module.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "train/steps/checkpoint.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using testing::HasSubstr;

/// Asks the run to stop after one step.
class StopAfter : public TrainObserver {
 public:
  StopAfter(int epoch, std::int64_t step) : epoch_(epoch), step_(step) {}
  void on_step(const StepProgress& done) override {
    if (done.epoch == epoch_ && done.step == step_) request_stop();
  }

 private:
  const int epoch_;
  const std::int64_t step_;
};

TrainOptions digits(const std::string& engine) {
  TrainOptions options;
  options.model = "mlp:784-12-10";
  options.engine = engine;
  options.data.location = "synth:digits:120";
  options.data.split = {70, 30};  // 80 images to train on
  options.batch = 18;             // 5 steps, the last of them on a short batch
  options.epochs = 4;
  options.learning_rate = 0.1;
  options.trainer.optimizer.momentum = 0.5;
  options.plan = test::cpu_replicas(1);
  return options;
}

class RunTest : public testing::Test {
 protected:
  void TearDown() override { clear_stop_request(); }

  /// Runs in a folder of that name, which a resumed run finds again.
  TrainResult run(TrainOptions options, const std::string& folder, TrainObserver& observer) {
    options.out = folder_ / folder;
    std::filesystem::create_directories(options.out);
    return test::train(options, observer);
  }
  TrainResult run(const TrainOptions& options, const std::string& folder) {
    TrainObserver observer;
    return run(options, folder, observer);
  }
  Checkpoint checkpoint(const std::string& folder) { return load_last(folder_ / folder); }

  test::TestFolder folder_;
};

struct Way {
  std::string engine;
  int replicas;
  bool ahead;  // the device is driven ahead of its results
};

class ResumeTest : public RunTest, public testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    const std::string& engine = GetParam().engine;
    if (module_status(engine).state == ModuleState::kNotBuilt) GTEST_SKIP() << engine << " is not built";
  }
};

// After the last step of an epoch it is the validation that is interrupted.
TEST_P(ResumeTest, ARunStoppedAtAnyStepOfAnEpochEndsAsTheWholeOne) {
  TrainOptions options = digits(GetParam().engine);
  options.plan = test::cpu_replicas(GetParam().replicas);
  options.trainer.torch.like_accelerator = GetParam().ahead;
  const TrainResult whole = run(options, "whole");
  const Checkpoint last = checkpoint("whole");
  for (const std::int64_t step : {2, 5}) {
    SCOPED_TRACE(step);
    const std::string folder = "stopped" + std::to_string(step);
    StopAfter stop(2, step);
    const TrainResult stopped = run(options, folder, stop);
    clear_stop_request();
    EXPECT_EQ(stopped.status, record::Status::kInterrupted);
    EXPECT_THAT(stopped.status_reason, HasSubstr("in epoch 2 after step " + std::to_string(step) + " of 5"));
    EXPECT_EQ(checkpoint(folder).progress.epoch, 1);
    EXPECT_EQ(checkpoint(folder).progress.step, step);
    options.resume = true;
    const TrainResult rest = run(options, folder);
    options.resume = false;
    EXPECT_EQ(rest.status, record::Status::kDone);
    EXPECT_EQ(checkpoint(folder).state, last.state);
    EXPECT_EQ(checkpoint(folder).optimizer_state, last.optimizer_state);
    EXPECT_EQ(rest.best_epoch, whole.best_epoch);
    ASSERT_EQ(rest.epochs.size(), whole.epochs.size());
    for (std::size_t i = 0; i < whole.epochs.size(); ++i) {
      EXPECT_DOUBLE_EQ(rest.epochs[i].train_loss.value(), whole.epochs[i].train_loss.value());
      EXPECT_DOUBLE_EQ(*rest.epochs[i].train_accuracy, *whole.epochs[i].train_accuracy);
      EXPECT_EQ(rest.epochs[i].val_loss, whole.epochs[i].val_loss);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, ResumeTest,
                         testing::Values(Way{"native", 1, false}, Way{"native", 2, false}, Way{"torch", 1, false},
                                         Way{"torch", 2, false}, Way{"torch", 1, true}),
                         [](const auto& info) {
                           const Way& way = info.param;
                           return way.engine + std::to_string(way.replicas) + (way.ahead ? "ahead" : "");
                         });

class BestTest : public RunTest {
 protected:
  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  }
};

TEST_F(BestTest, OfEquallyAccurateEpochsTheOneOfTheLowestLossIsTaken) {
  TrainOptions options = digits("native");
  options.model = "mlp:784-24-10";
  options.data.location = "synth:digits:1000";
  options.data.split = {98, 2};  // so few to validate on that accuracies repeat
  options.learning_rate = 0.03;
  options.epochs = 12;
  const TrainResult whole = run(options, "whole");
  const auto is_better = [](const record::EpochRecord& a, const record::EpochRecord& b) {
    return std::tuple(*a.val_accuracy, -*a.val_loss) < std::tuple(*b.val_accuracy, -*b.val_loss);
  };
  const record::EpochRecord best = *std::ranges::max_element(whole.epochs, is_better);
  const record::EpochRecord first =
      *std::ranges::find_if(whole.epochs, [&](const auto& epoch) { return epoch.val_accuracy == best.val_accuracy; });
  ASSERT_LT(first.epoch, best.epoch) << "no accuracy was reached twice: this run shows nothing";
  EXPECT_EQ(whole.best_epoch, best.epoch);
  // Nor does a resumed run forget how low the loss was.
  options.epochs = first.epoch;
  run(options, "resumed");
  options.resume = true;
  options.epochs = 12;
  EXPECT_EQ(run(options, "resumed").best_epoch, best.epoch);
  EXPECT_EQ(load_best(folder_ / "resumed"), load_best(folder_ / "whole"));
}

TEST_F(BestTest, TheAveragedWeightsThatWereValidatedAreTested) {
  TrainOptions options = digits("native");
  options.data.split = {60, 20, 20};
  options.trainer.optimizer.average_decay = 0.9;
  const TrainResult trained = run(options, "averaged");
  ASSERT_EQ(trained.best_epoch, options.epochs) << "the best epoch is to be the last one";
  options.epochs = 0;
  options.trainer.optimizer.average_decay = 0;
  options.weights = folder_ / "averaged" / "best.safetensors";
  const TrainResult evaluated = run(options, "evaluated");
  EXPECT_EQ(trained.test_loss, evaluated.test_loss);
  EXPECT_EQ(trained.epochs.back().val_loss, evaluated.val_loss);
}

}  // namespace
}  // namespace evener::training
