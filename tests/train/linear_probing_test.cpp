// Runs that begin with the fit of a new last layer, whole and gone on with.
// The linear layer that is fitted to features, by its optimum: there the gradient vanishes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/module.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "infer/run/softmax_regression.h"
#include "network/zoo.h"
#include "train/steps/checkpoint.h"
#include "train/steps/linear_probe.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using testing::HasSubstr;

TEST(LinearHead, IsTheLayerThatDecidesTheOutput) {
  const auto head = inference::linear_head(network::build("mobilenet_v2", {.classes = 3}));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->layer, "classifier.1");
  EXPECT_EQ(head->features, "flatten") << "not the dropout between";
  EXPECT_EQ(head->values, 1280);
  EXPECT_EQ(head->classes, 3);
  EXPECT_TRUE(head->has_bias);
  EXPECT_FALSE(inference::linear_head(network::build("ssdlite_mobilenet_v2", {})));
  EXPECT_FALSE(inference::linear_head(network::build("mtcnn_onet", {})));
}

class LinearProbingRun : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* engine : {"torch", "openvino"}) {
      if (module_status(engine).state == ModuleState::kNotBuilt) GTEST_SKIP() << engine << " is not built";
    }
    TrainOptions before = digits(3);
    before.data.location = "synth:digits:300";
    run(before, "before");
  }
  void TearDown() override { clear_stop_request(); }

  /// `epochs` of digits. The weights have ten classes, and masks nine.
  static TrainOptions digits(int epochs) {
    TrainOptions options;
    options.model = "resnet20";
    options.engine = "torch";
    options.data.location = "synth:masks:90";
    options.data.split = {70, 30};
    options.data.width = options.data.height = 24;
    options.batch = 16;
    options.epochs = epochs;
    options.learning_rate = 0.01;
    options.trainer.optimizer.momentum = 0.9;
    options.trainer.optimizer.average_decay = 0.9;
    options.plan = test::cpu_replicas(1);
    return options;
  }
  TrainOptions tuned(int epochs) const {
    TrainOptions options = digits(epochs);
    options.weights = folder_ / "before/best.safetensors";
    options.linear_probing = LinearProbing::kNew;
    return options;
  }
  TrainResult run(TrainOptions options, const std::string& folder) {
    TrainObserver observer;
    return run(options, folder, observer);
  }
  TrainResult run(TrainOptions options, const std::string& folder, TrainObserver& observer) {
    options.out = folder_ / folder;
    std::filesystem::create_directories(options.out);
    return test::train(options, observer);
  }

  test::TestFolder folder_;
};

/// Stops in an epoch, after a step.
class StopIn : public TrainObserver {
 public:
  explicit StopIn(int epoch) : epoch_(epoch) {}
  void on_step(const StepProgress& done) override {
    if (done.epoch == epoch_ && done.step == 2) request_stop();
  }
  void on_epoch(const record::EpochRecord& epoch) override {
    if (epoch.head_only && epoch_ == 1) request_stop();
  }

 private:
  const int epoch_;
};

TEST_F(LinearProbingRun, BeginsWithAnEpochOfTheLastLayerAlone) {
  const TrainResult head = run(tuned(1), "head");
  ASSERT_EQ(head.epochs.size(), 1U);
  EXPECT_TRUE(head.epochs[0].head_only);
  EXPECT_GT(*head.epochs[0].train_accuracy, 0.5) << "of nine classes";
  EXPECT_EQ(head.best_epoch, 1);
  const TensorMap before = load_best(folder_ / "before"), after = load_best(folder_ / "head");
  EXPECT_EQ(after.at("layer3.2.conv2.weight"), before.at("layer3.2.conv2.weight"));
  EXPECT_EQ(after.at("bn1.running_mean"), before.at("bn1.running_mean")) << "statistics stay as well";
  EXPECT_EQ(after.at("linear.weight").shape.front(), 9);

  const TrainResult whole = run(tuned(3), "whole");
  ASSERT_EQ(whole.epochs.size(), 3U);
  EXPECT_EQ(whole.epochs[0].val_loss, head.epochs[0].val_loss);
  EXPECT_FALSE(whole.epochs[1].head_only);
  const TensorMap last = load_last(folder_ / "whole").state;
  EXPECT_NE(last.at("layer3.2.conv2.weight"), before.at("layer3.2.conv2.weight"));
  if (whole.best_epoch == 1) {
    EXPECT_EQ(load_best(folder_ / "whole"), after) << "the first weights may stay the best";
  }
}

TEST_F(LinearProbingRun, GoesOnAsTheWholeOneWhereverItWasStopped) {
  run(tuned(3), "whole");
  const Checkpoint last = load_last(folder_ / "whole");
  for (const int epoch : {1, 2, 3}) {
    SCOPED_TRACE(epoch);
    const std::string folder = "stopped" + std::to_string(epoch);
    TrainOptions options = tuned(3);
    StopIn stop(epoch);
    EXPECT_EQ(run(options, folder, stop).status, record::Status::kInterrupted);
    clear_stop_request();
    EXPECT_TRUE(load_last(folder_ / folder).progress.epochs.front().head_only);
    options.resume = true;
    EXPECT_EQ(run(options, folder).status, record::Status::kDone);
    EXPECT_EQ(load_last(folder_ / folder).state, last.state);
    EXPECT_EQ(load_last(folder_ / folder).optimizer_state, last.optimizer_state);
  }
}

TEST_F(LinearProbingRun, ReplicasBeginWithOneFit) {
  TrainOptions options = tuned(2);
  const TrainResult alone = run(options, "alone");
  options.plan = test::cpu_replicas(2);
  const TrainResult two = run(options, "two");
  ASSERT_EQ(two.epochs.size(), 2U);
  EXPECT_EQ(two.epochs[0].val_accuracy, alone.epochs[0].val_accuracy);
  EXPECT_NEAR(two.epochs[1].train_loss.value() / alone.epochs[1].train_loss.value(), 1, 0.02);
}

TEST_F(LinearProbingRun, IsLeftOutWhereTheHeadFitsOrItIsTurnedOff) {
  TrainOptions options = tuned(1);
  options.linear_probing = LinearProbing::kNever;
  EXPECT_FALSE(run(options, "off").epochs[0].head_only);
  options = tuned(1);
  options.data.location = "synth:digits:100";
  EXPECT_FALSE(run(options, "fits").epochs[0].head_only);
  options.linear_probing = LinearProbing::kAlways;
  EXPECT_TRUE(run(options, "always").epochs[0].head_only);
}

TEST_F(LinearProbingRun, LooksAtChangedCopiesWhereImagesAreAugmented) {
  class Setup : public TrainObserver {
   public:
    void on_setup(const TrainSetup& setup, const TrainOptions& /*options*/) override { fit = setup.linear_probe; }
    std::optional<LinearProbe> fit;
  } seen;
  TrainOptions options = tuned(1);
  options.augment.crop_padding = 2;
  run(options, "augmented", seen);
  ASSERT_TRUE(seen.fit);
  EXPECT_EQ(seen.fit->copies, 4U);
  EXPECT_EQ(seen.fit->layer, "linear");
}

/// Two features, whose sizes differ by far, around a middle for each of three classes.
inference::FeatureTable three_clouds(std::size_t samples, double spread) {
  inference::FeatureTable table;
  table.values = 3;
  Random random(3, Purpose::kSynthetic, 1);
  const double middles[3][2] = {{0, 0}, {2, 0}, {0, 2}};
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t label = n % 3;
    table.labels.push_back(static_cast<std::int32_t>(label));
    table.features.push_back(static_cast<float>(100 + 50 * (middles[label][0] + spread * random.normal())));
    table.features.push_back(static_cast<float>(middles[label][1] + spread * random.normal()));
    table.features.push_back(7);  // tells nothing
  }
  return table;
}

std::vector<double> shares_of(const inference::LinearFit& fit, const inference::FeatureTable& table,
                              std::size_t sample) {
  std::vector<double> shares;
  double total = 0;
  for (std::size_t c = 0; c < fit.bias.size(); ++c) {
    double score = fit.bias[c];
    for (std::size_t i = 0; i < table.values; ++i) {
      score += static_cast<double>(fit.weight[c * table.values + i]) * table.features[sample * table.values + i];
    }
    shares.push_back(std::exp(score));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

TEST(SoftmaxRegression, FindsTheMinimumOfTheDecayedLoss) {
  const inference::FeatureTable table = three_clouds(300, 0.8);
  const double decay = 0.01;
  const inference::LinearFit fit = inference::fit_softmax(table, 3, decay, 1);
  EXPECT_GT(fit.accuracy, 0.8);
  // Of the bias, and of the weights of the second feature, which has about the deviation `scale`.
  double mean = 0, square = 0;
  for (std::size_t n = 0; n < table.samples(); ++n) {
    mean += table.features[3 * n + 1] / 300.0;
    square += table.features[3 * n + 1] * table.features[3 * n + 1] / 300.0;
  }
  const double scale = std::sqrt(square - mean * mean);
  for (std::size_t c = 0; c < 3; ++c) {
    double of_bias = 0, of_weight = decay * fit.weight[c * 3 + 1] * scale;
    for (std::size_t n = 0; n < table.samples(); ++n) {
      const double error = shares_of(fit, table, n)[c] - (table.labels[n] == static_cast<std::int32_t>(c) ? 1 : 0);
      of_bias += error / 300;
      of_weight += error * (table.features[3 * n + 1] - mean) / scale / 300;
    }
    EXPECT_NEAR(of_bias, 0, 2e-3) << c;
    EXPECT_NEAR(of_weight, 0, 2e-3) << c;
    EXPECT_EQ(fit.weight[c * 3 + 2], 0) << "a feature that is always the same has no weight";
  }
}

TEST(SoftmaxRegression, TellsLossAndAccuracyOfItsResult) {
  const inference::FeatureTable table = three_clouds(90, 0.5);
  const inference::LinearFit fit = inference::fit_softmax(table, 3, 0.01, 1);
  double loss = 0;
  for (std::size_t n = 0; n < table.samples(); ++n) {
    loss -= std::log(shares_of(fit, table, n)[static_cast<std::size_t>(table.labels[n])]) / 90;
  }
  EXPECT_NEAR(fit.loss, loss, 1e-4);
}

TEST(SoftmaxRegression, IsTheSameWithAnyNumberOfThreads) {
  const inference::LinearFit one = inference::fit_softmax(three_clouds(100, 0.5), 3, 0.01, 1);
  const inference::LinearFit four = inference::fit_softmax(three_clouds(100, 0.5), 3, 0.01, 4);
  EXPECT_EQ(one.weight, four.weight);
  EXPECT_EQ(one.bias, four.bias);
}

TEST(SoftmaxRegression, KnowsOneImageAndRefusesWhatIsNone) {
  inference::FeatureTable one;
  one.values = 2;
  one.features = {1, 2};
  one.labels = {1};
  EXPECT_EQ(inference::fit_softmax(one, 2, 0.01, 2).accuracy, 1);
  EXPECT_THROW(inference::fit_softmax(inference::FeatureTable{2, {}, {}}, 2, 0.01, 1), Error);
  one.labels = {2};
  EXPECT_THROW(inference::fit_softmax(one, 2, 0.01, 1), Error);
}

}  // namespace

}  // namespace evener::training
