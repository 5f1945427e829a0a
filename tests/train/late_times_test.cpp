// Times on a device that is driven ahead: they are of what became known, not of handing steps over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/test_folder.h"
#include "train/late_device_helpers.h"
#include "train/steps/step_times.h"
#include "train/steps/trial.h"
#include "train/train_helpers.h"

namespace evener::training {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

/// Sleeping for a step takes thousands of times as long as handing one over, whatever the machine: a figure that is
/// wrong here is so by far more than this.
constexpr double kFar = 10;

auto step_of(std::int64_t images, double seconds) {
  return testing::AllOf(Field(&StepTimes::Step::images, images),
                        Field(&StepTimes::Step::seconds, testing::DoubleNear(seconds, 1e-12)));
}

TEST(StepTimes, AreOfEachCallWhereResultsComeAtOnce) {
  StepTimes times;
  times.give(16);
  EXPECT_THAT(times.pass(0.5, 1), ElementsAre(step_of(16, 0.5)));
  times.give(8);
  EXPECT_THAT(times.pass(0.25, 1), ElementsAre(step_of(8, 0.25)));
}

// A device that takes 2 s a step, while handing one over takes no time, and one that is done with a step as soon as the
// next is handed over, which takes 2 s: each step took 2 s, though the first results come after 2 or 6, the last after
// 4 or none.
TEST(StepTimes, HaveWhatPassedUntilStepsBecameKnown) {
  for (const double handing_s : {0.0, 2.0}) {
    SCOPED_TRACE(handing_s);
    StepTimes times;
    for (int run = 0; run < 2; ++run) {  // nothing is left of earlier steps
      for (int step = 0; step < 2; ++step) {
        times.give(32);
        EXPECT_THAT(times.pass(handing_s, 0), IsEmpty());
      }
      times.give(32);
      EXPECT_THAT(times.pass(2, 1), IsEmpty()) << "what came of handing over two more isn't known yet";
      times.give(32);
      EXPECT_THAT(times.pass(2, 1), ElementsAre(step_of(32, 2)));
      EXPECT_THAT(times.pass(4 - 2 * handing_s, 2), ElementsAre(step_of(32, 2), step_of(32, 2), step_of(32, 2)));
    }
  }
}

TEST(StepTimes, OfSeveralStepsAreSharedByTheirImages) {
  StepTimes times;
  times.give(32);
  times.give(8);
  EXPECT_THAT(times.pass(1, 0), IsEmpty());
  EXPECT_THAT(times.pass(4, 2), ElementsAre(step_of(32, 4), step_of(8, 1)));
}

TEST(StepTimes, ThatAreSharedWithAWarmUpStepAreOfItsNumber) {
  StepTimes times;
  for (int step = 0; step < 3; ++step) times.give(1);
  times.pass(1, 1);
  EXPECT_THAT(times.pass(1, 2), testing::Each(Field(&StepTimes::Step::number, 0)));
  times.give(1);
  EXPECT_THAT(times.pass(1, 1), ElementsAre(Field(&StepTimes::Step::number, 3)));
}

class LateTimes : public testing::Test {
 protected:
  void SetUp() override {
    options_.model = "mlp:784-10";
    options_.engine = "torch";
    options_.open_engine = [this](const std::string&) { return test::make_late_engine(device_); };
    options_.data.location = "synth:digits:64";
    options_.data.split = {75, 25};
    options_.batch = 20;  // about 48 training images: three steps an epoch
    options_.epochs = 6;
    options_.plan = test::cpu_replicas(1);
    options_.out = folder_.path();
  }

  test::LateDevice device_;
  test::TestFolder folder_;
  TrainOptions options_;
};

/// Works out a time at which the job's clock was running already.
class Ready : public TrainObserver {
 public:
  void on_setup(const TrainSetup& setup, const TrainOptions&) override {
    steps_per_epoch = setup.steps_per_epoch;
    running_at_s = now_s() - setup.load_s;
  }
  void on_step(const StepProgress& step) override { stepped_s += step.step_seconds; }
  std::int64_t steps_per_epoch = 0;
  double running_at_s = 0, stepped_s = 0;
};

TEST_F(LateTimes, OfATrainingAreTheDevices) {
  Ready ready;
  const TrainResult result = test::train(options_, ready);
  ASSERT_EQ(ready.steps_per_epoch, 3);
  const std::vector<double> rates = result.later_epochs.rates();
  EXPECT_EQ(rates.size(), 15U);
  EXPECT_LT(median(rates).value_or(0), kFar * 20 / device_.step_s);
  // Of the device, which tells two steps late, an epoch of three is known only as a whole.
  for (std::size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(rates[step], rates[step - step % 3], 1e-6 * rates[step]) << "step " << step;
  }
  EXPECT_TRUE(result.first_epoch.rates().empty()) << "its three steps are warm-up";
  EXPECT_GE(result.replicas.at(0).busy_s, device_.waited_s);
  EXPECT_GE(result.times.train, device_.waited_s);
  EXPECT_GE(ready.stepped_s, device_.waited_s);
}

TEST_F(LateTimes, OfTheFirstStepIsWhenItsResultIsKnown) {
  device_.step_s = 0.3;
  options_.epochs = 1;
  Ready ready;
  const TrainResult result = test::train(options_, ready);
  EXPECT_GE(result.times.first_step, device_.first_done_s - ready.running_at_s);
}

TEST_F(LateTimes, OfATrialAreTheDevices) {
  device_.behind = 8;
  TrainObserver observer;
  const PreparedTraining training(options_, observer);
  const TrialResult result = Trials(training).run(options_.plan, /*seconds=*/0.1);
  ASSERT_FALSE(result.sizes.empty());
  for (const TrialSteps& size : result.sizes) {
    EXPECT_GT(median(size.seconds).value_or(0), device_.step_s / kFar) << size.images << " images";
  }
}

}  // namespace
}  // namespace evener::training
