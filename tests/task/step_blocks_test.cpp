#include <gmock/gmock.h>

#include <numeric>

#include "task/training/step_times.h"

namespace evener::task {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;

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

}  // namespace
}  // namespace evener::task
