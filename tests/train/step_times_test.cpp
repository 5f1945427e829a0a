// Whether there is time for more of a training.
#include "train/steps/step_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thrown.h"
#include "network/zoo.h"
#include "train/steps/checkpoint.h"
#include "train/steps/schedule.h"

namespace evener::training {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::HasSubstr;

TEST(StepBlocks, AreSingleStepsOfAShortTraining) {
  StepBlocks steps;
  EXPECT_TRUE(steps.rates().empty());
  steps.add(32, 2);
  steps.add(16, 4);
  EXPECT_THAT(steps.rates(), ElementsAre(16, 4));
  EXPECT_EQ(steps.steps_per_block(), 1);
}

TEST(StepBlocks, HoldEquallyManyStepsHoweverLongTheTraining) {
  StepBlocks steps;
  for (int step = 1; step <= 10'000; ++step) {
    steps.add(32, 2);
    const std::vector<double> rates = steps.rates();
    ASSERT_LE(rates.size(), 40U) << step;
    ASSERT_GE(rates.size(), std::min(step, 20)) << step;
    ASSERT_THAT(rates, Each(DoubleEq(16))) << step;
  }
  EXPECT_EQ(steps.steps_per_block(), 256);
  EXPECT_EQ(steps.rates().size(), 10'000U / 256);
}

TEST(StepBlocks, KeepTheOrderAndLoseNoStep) {
  StepBlocks steps;
  for (int step = 0; step < 80; ++step) steps.add(step, 1);
  std::vector<double> pairs;
  for (int step = 0; step < 80; step += 2) pairs.push_back(step + 0.5);
  EXPECT_EQ(steps.rates(), pairs);
}

TEST(StepBlocks, TakeAsLongAsTheirSteps) {
  StepBlocks steps;
  for (int step = 0; step < 80; ++step) steps.add(12, step % 2 == 0 ? 2 : 4);
  EXPECT_THAT(steps.rates(), Each(DoubleEq(4)));
}

/// A limit that lies so far ahead, of data of which as many images are tested as validated.
TimeLimit limit_in(double seconds) {
  TrainSetup setup(network::build("mlp:4-2", {}));
  setup.val_images = setup.test_images = 100;
  return {now_s() + seconds, setup, 10};
}

/// After one epoch that took so long.
Progress after_an_epoch(double seconds) {
  Progress progress;
  progress.epoch = 1;
  progress.epochs.resize(1);
  progress.epochs.front().seconds = seconds;
  return progress;
}

TEST(TimeLimit, JudgingHasToFitInAsWell) {
  TimeLimit limit = limit_in(1000);
  EXPECT_FALSE(limit.is_over()) << "nothing is known of how long it takes";
  limit.stepped_in(100, 1);  // for 10 images; the forward pass of 200 takes a third of twenty such steps
  EXPECT_FALSE(limit.is_over());
  limit.stepped_in(300, 1);  // 200 s a step
  EXPECT_TRUE(limit.is_over());
  limit.judged_in(400);  // and as long for the images to test on
  EXPECT_FALSE(limit.is_over());
  limit.judged_in(600);
  EXPECT_TRUE(limit.is_over());
}

TEST(TimeLimit, AnotherEpochHasToFitInWithJudging) {
  TimeLimit limit = limit_in(1000);
  limit.judged_in(300);
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(300), 5));
  EXPECT_TRUE(limit.leaves_none_for_more(after_an_epoch(500), 5));
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(500), 1)) << "there are to be no more";
  EXPECT_FALSE(limit.leaves_none_for_more(Progress(), 5)) << "there was none yet";
}

TEST(TimeLimit, FittingTheHeadTellsNothingOfAnEpoch) {
  TimeLimit limit = limit_in(1000);
  Progress progress = after_an_epoch(5000);
  progress.epochs.front().head_only = true;
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 5));
  limit.judged_in(600);
  EXPECT_TRUE(limit.leaves_none_for_more(progress, 5));
}

TEST(TimeLimit, AnEpochThatWasEndedEarlyIsTheLast) {
  TimeLimit limit = limit_in(1000);
  Progress progress = after_an_epoch(1);
  progress.epochs.front().share = 0.5;
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 5)) << "that was in an earlier run";
  limit.stepped_in(0.1, 1);
  EXPECT_TRUE(limit.leaves_none_for_more(progress, 5));
}

TEST(TimeLimit, WithoutOneThereIsTimeForAll) {
  TimeLimit limit(0, TrainSetup(network::build("mlp:4-2", {})), 10);
  limit.judged_in(1e9);
  EXPECT_FALSE(limit.is_over());
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(1e9), 5));
}

std::string times_refusal(const std::string& text) {
  return test::thrown_by<UsageError>([&] { parse_schedule(text); }, "accepted");
}

TEST(Schedule, ConstantKeepsTheRate) {
  const Schedule schedule = parse_schedule("constant");
  EXPECT_DOUBLE_EQ(schedule.rate(0.3, 0, 10, 5), 0.3);
  EXPECT_DOUBLE_EQ(schedule.rate(0.3, 49, 10, 5), 0.3);
}

TEST(Schedule, AWarmUpShorterThanAStepDoesNotOvershoot) {
  Schedule schedule = parse_schedule("constant");
  schedule.warmup_epochs = 0.1;
  EXPECT_DOUBLE_EQ(schedule.rate(0.3, 0, 1, 5), 0.3);
  EXPECT_DOUBLE_EQ(schedule.rate(0.3, 0, 5, 5), 0.3);
  EXPECT_DOUBLE_EQ(schedule.rate(0.3, 0, 20, 5), 0.15);
}

TEST(Schedule, CosineBeginsToFallAfterTheWarmUp) {
  Schedule schedule = parse_schedule("cosine");
  schedule.warmup_epochs = 2;
  EXPECT_DOUBLE_EQ(schedule.rate(0.2, 20, 10, 4), 0.2);
  EXPECT_NEAR(schedule.rate(0.2, 30, 10, 4), 0.1, 1e-12);
}

TEST(Schedule, StepDropsAtTheBorderOfEpochs) {
  const Schedule schedule = parse_schedule("step:2:0.5");
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 19, 10, 6), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 20, 10, 6), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 40, 10, 6), 0.25);
}

TEST(Schedule, CosineFallsFromTheBaseTowardsZero) {
  const Schedule schedule = parse_schedule("cosine");
  EXPECT_DOUBLE_EQ(schedule.rate(0.2, 0, 10, 4), 0.2);
  EXPECT_NEAR(schedule.rate(0.2, 20, 10, 4), 0.1, 1e-12);
  const double last = schedule.rate(0.2, 39, 10, 4);
  EXPECT_GT(last, 0);
  EXPECT_LT(last, 0.2 * 0.002);
}

// The values of torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10, cycle_momentum=False).
TEST(Schedule, OneCycleRisesOverThreeTenthsThenFalls) {
  const Schedule schedule = parse_schedule("one-cycle");
  const double expected[] = {0.04, 0.52, 1, 0.95048, 0.81174, 0.61126, 0.38874, 0.18826, 0.049518, 4e-06};
  for (int step = 0; step < 10; ++step) EXPECT_NEAR(schedule.rate(1.0, step, 5, 2), expected[step], 1e-5) << step;
  EXPECT_NEAR(schedule.rate(1.0, 0, 1, 1), 4e-6, 1e-9) << "a single step";
}

TEST(Schedule, WarmUpGrowsLinearlyAndReachesTheBase) {
  Schedule schedule = parse_schedule("cosine");
  schedule.warmup_epochs = 2;
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 0, 5, 10), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 4, 5, 10), 0.5);
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 9, 5, 10), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(1.0, 10, 5, 10), 1.0);  // the cosine begins after the warm-up
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(times_refusal("cosin"), HasSubstr("did you mean 'cosine'"));
  EXPECT_THAT(times_refusal(""), HasSubstr("Known: constant"));
  EXPECT_THAT(times_refusal("step:0"), HasSubstr("whole number from 1 on"));
  EXPECT_THAT(times_refusal("step:1.5"), HasSubstr("whole number from 1 on"));
  EXPECT_THAT(times_refusal("step:3:2"), HasSubstr("(0, 1]"));
  EXPECT_THAT(times_refusal("step:3:0.1:9"), HasSubstr("too many numbers"));
  EXPECT_THAT(times_refusal("step:x"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(times_refusal("constant:1"), HasSubstr("takes no numbers"));
}

TEST(Schedule, ANewEndIsToldWithWhatTheRateBecomes) {
  const std::int64_t steps = 10;
  const Schedule cosine = parse_schedule("cosine");
  const std::string text = new_end_text(cosine, 0.1, 10 * steps, steps, 10, 20);
  EXPECT_THAT(text, testing::HasSubstr("cosine schedule now ends after epoch 20 instead of 10: the rate goes on with "
                                       "0.05, after 2.47e-05 in the last step"));
  EXPECT_THAT(new_end_text(parse_schedule("one-cycle"), 0.1, 100, steps, 10, 5), testing::HasSubstr("one-cycle"));
  EXPECT_EQ(new_end_text(cosine, 0.1, 50, steps, 10, 10), "");
  EXPECT_EQ(new_end_text(cosine, 0.1, 0, steps, 10, 20), "") << "nothing was trained yet";
  EXPECT_EQ(new_end_text(parse_schedule("constant"), 0.1, 100, steps, 10, 20), "");
  EXPECT_EQ(new_end_text(parse_schedule("step:5"), 0.1, 100, steps, 10, 20), "");
}

}  // namespace

}  // namespace evener::training
