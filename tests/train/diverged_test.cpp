// Runs whose last step of an epoch spoils the weights, which no loss of training shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/module.h"
#include "base/test_folder.h"
#include "train/steps/checkpoint.h"
#include "train/train_helpers.h"
#include "weights/safetensors.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::HasSubstr;

bool are_finite(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
      if (!std::isfinite(tensor.floats()[i])) return false;
    }
  }
  return true;
}

class DivergedTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (module_status(GetParam()).state == ModuleState::kNotBuilt) GTEST_SKIP() << GetParam() << " is not built";
    options_.model = "mlp:784-12-10";
    options_.engine = GetParam();
    options_.data.location = "synth:digits:100";
    options_.data.split = {70, 10, 20};
    options_.batch = 100;  // an epoch is one step
    options_.epochs = 1;
    options_.learning_rate = 1e30;
    options_.plan = test::cpu_replicas(1);
    options_.out = folder_.path();
  }

  TrainResult run() { return test::train(options_); }

  TrainOptions options_;
  test::TestFolder folder_;
};

TEST_P(DivergedTest, TheValidationShowsIt) {
  const TrainResult result = run();
  EXPECT_EQ(result.status, record::Status::kDiverged);
  EXPECT_THAT(result.status_reason,
              AllOf(HasSubstr("the validation loss is not finite after epoch 1"), HasSubstr("Try a smaller --lr")));
  EXPECT_EQ(result.best_epoch, 0);
  EXPECT_FALSE(result.test_loss.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_P(DivergedTest, TheTestShowsItWithoutAValidation) {
  options_.data.split = {70, 0, 30};
  const TrainResult result = run();
  EXPECT_EQ(result.status, record::Status::kDiverged);
  EXPECT_THAT(result.status_reason, HasSubstr("the test loss is not finite with the weights of epoch 1"));
  EXPECT_FALSE(result.test_loss.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_P(DivergedTest, WeightsThatNothingJudgesAreNotSavedEither) {
  options_.data.split = {70, 0};
  options_.trainer.optimizer.weight_decay = 1e30;  // beyond float, not only their products
  const TrainResult result = run();
  EXPECT_EQ(result.status, record::Status::kDiverged);
  EXPECT_THAT(result.status_reason, HasSubstr("the weights are not finite after epoch 1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_P(DivergedTest, TheLastGoodCheckpointStays) {
  // The squared error grows by the rate squared with each step: beyond float in the second.
  options_.model = "mlp:784-10";
  options_.trainer.criterion = network::mean_squared_error();
  options_.learning_rate = 1e12;
  options_.epochs = 3;
  const TrainResult result = run();
  EXPECT_EQ(result.status, record::Status::kDiverged);
  EXPECT_THAT(result.status_reason, HasSubstr("the validation loss is not finite after epoch 2"));
  const Checkpoint last = load_last(folder_.path());
  EXPECT_EQ(last.progress.epoch, 1);
  EXPECT_TRUE(are_finite(last.state));
  EXPECT_EQ(load_best(folder_.path()), last.state);
}

// Checkpoints that would take more than their share of the time are left out, and with them the best weights of their
// epochs.
TEST_P(DivergedTest, TheBestWeightsAreThoseThatTheResultSpeaksOf) {
  options_.learning_rate = 0.05;
  options_.batch = 10;
  options_.epochs = 12;
  options_.schedule = {Schedule::Kind::kStep, /*drop_epochs=*/11, /*drop_factor=*/1e35};
  const TrainResult result = run();
  EXPECT_EQ(result.status, record::Status::kDiverged);
  EXPECT_GT(result.best_epoch, 1);
  const auto best = weights::read_safetensors_metadata(folder_.path() / "best.safetensors");
  EXPECT_EQ(best.at("generation"), std::to_string(result.best_epoch) + ".0");
  EXPECT_TRUE(are_finite(load_best(folder_.path())));
}

INSTANTIATE_TEST_SUITE_P(Engines, DivergedTest, testing::Values("native", "torch"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace evener::training
