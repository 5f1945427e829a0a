// The arithmetic of predictions, on made-up machines.
#include <gmock/gmock.h>

#include "plan/probe.h"

namespace evener::plan {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kNear = 1e-9;

Group two(StepModel first, StepModel second, double exchange_s = 0) {
  Group group;
  group.replicas = {first, second};
  group.exchange_s = [exchange_s](int) { return exchange_s; };
  return group;
}

TEST(FitStep, TakesTheLineThroughTheTwoLargestSizes) {
  const Timing timings[] = {{4, 1.0}, {16, 0.18}, {32, 0.34}};
  const StepModel step = fit_step(timings);
  EXPECT_NEAR(step.fixed_s, 0.02, kNear);
  EXPECT_NEAR(step.per_image_s, 0.01, kNear);
  EXPECT_NEAR(step.seconds(64), 0.66, kNear);
}

TEST(FitStep, IsProportionalWhereALineMakesNoSense) {
  const Timing one[] = {{8, 0.4}};
  const Timing falling[] = {{8, 0.5}, {16, 0.4}};
  const Timing below_zero[] = {{8, 0.1}, {16, 0.4}};
  EXPECT_NEAR(fit_step(one).seconds(16), 0.8, kNear);
  EXPECT_NEAR(fit_step(falling).seconds(8), 0.2, kNear);
  EXPECT_NEAR(fit_step(below_zero).seconds(8), 0.2, kNear);
  EXPECT_EQ(fit_step(below_zero).fixed_s, 0);
  EXPECT_EQ(fit_step({}).seconds(8), 0);
}

TEST(EpochSeconds, CountTheLastBatchAsWhatItIs) {
  const StepModel step{0.1, 0.01};
  EXPECT_NEAR(epoch_seconds(step, 100, 50), 2 * 0.6, kNear);
  EXPECT_NEAR(epoch_seconds(step, 110, 50), 2 * 0.6 + 0.2, kNear);
  EXPECT_NEAR(epoch_seconds(step, 10, 50), 0.2, kNear);
}

TEST(FitExchange, SeparatesLatencyAndBandwidth) {
  const ExchangeModel exchange = fit_exchange(1000, 0.002, 101'000, 0.102);
  EXPECT_NEAR(exchange.s_per_byte, 1e-6, 1e-15);
  EXPECT_NEAR(exchange.latency_s, 0.001, kNear);
  EXPECT_NEAR(exchange.seconds(1'000'000), 1.001, kNear);
}

TEST(FitExchange, NeverFallsWithTheSize) {
  EXPECT_EQ(fit_exchange(1000, 0.002, 100'000, 0.001).seconds(1e9), 0.002);
  EXPECT_GE(fit_exchange(1000, 0.0001, 2000, 1).latency_s, 0);
}

TEST(StepTogether, GivesUnequalReplicasSharesThatEndTogether) {
  // 3 : 1 in speed, no fixed costs.
  const GroupStep step = step_together(two({0, 0.01}, {0, 0.03}), 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(30, 1e-6), DoubleNear(10, 1e-6)));
  EXPECT_NEAR(step.seconds, 0.3, 1e-6);
}

TEST(StepTogether, TakesFixedCostsOffTheShare) {
  // The second has 0.1 s less for images: 0.01 n = 0.1 + 0.01 (50 - n), n = 30.
  const GroupStep step = step_together(two({0, 0.01}, {0.1, 0.01}), 50);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(30, 1e-6), DoubleNear(20, 1e-6)));
}

TEST(StepTogether, GivesNothingToAReplicaThatIsLateWithoutImages) {
  const GroupStep step = step_together(two({0, 0.01}, {9, 0.01}), 50);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(50, 1e-6), 0));
}

TEST(StepTogether, WaitsForTheSlowestOfFixedShares) {
  Group group = two({0, 0.01}, {0, 0.03});
  group.weights = {1, 1};
  const GroupStep step = step_together(group, 40);
  EXPECT_THAT(step.images, ElementsAre(20, 20));
  EXPECT_NEAR(step.seconds, 0.6, kNear);
}

TEST(StepTogether, AddsTheExchangeAndWaitsForLoaders) {
  EXPECT_NEAR(step_together(two({0, 0.01}, {0, 0.01}, 0.05), 40).seconds, 0.25, 1e-6);
  Group hungry = two({0, 0.01}, {0, 0.01});
  hungry.images_per_s_limit = 50;  // 20 images take a loader 0.4 s
  EXPECT_NEAR(step_together(hungry, 40).seconds, 0.4, 1e-6);
}

TEST(StepOfRun, LeavesAHelperOutThatCostsMoreThanItBrings) {
  // The helper brings 1 % and costs an exchange of 0.1 s in a step of 0.4 s.
  const Group group = two({0, 0.01}, {0, 1.0}, 0.1);
  const GroupStep step = step_of_run(group, 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(40, 1e-6), 0));
  EXPECT_NEAR(step.seconds, 0.4, 1e-6);
  EXPECT_GT(step_together(group, 40).seconds, 0.49);
}

TEST(StepOfRun, KeepsAHelperThatBringsMoreThanItCosts) {
  const GroupStep step = step_of_run(two({0, 0.01}, {0, 0.01}, 0.1), 40);
  EXPECT_NEAR(step.seconds, 0.3, 1e-6);
}

TEST(StepOfRun, LeavesOutTheWeakestFirst) {
  Group group = two({0, 0.01}, {0, 1.0});
  group.replicas.push_back({0, 0.01});
  group.exchange_s = [](int ranks) { return ranks > 2 ? 1.0 : 0.01; };
  const GroupStep step = step_of_run(group, 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(20, 1e-6), 0, DoubleNear(20, 1e-6)));
}

TEST(StepOfRun, NeverLeavesTheLeaderOutOrChangesFixedShares) {
  const GroupStep slow_leader = step_of_run(two({0, 1.0}, {0, 0.01}, 100), 40);
  EXPECT_NEAR(slow_leader.seconds, 40, 1e-6);  // alone
  Group fixed = two({0, 0.01}, {0, 1.0});
  fixed.weights = {1, 1};
  EXPECT_NEAR(step_of_run(fixed, 40).seconds, 20, kNear);
}

TEST(Ceiling, IsOnePlusTheOthersRatios) {
  EXPECT_DOUBLE_EQ(ceiling(std::vector<double>{100, 25}), 1.25);
  EXPECT_DOUBLE_EQ(ceiling(std::vector<double>{25, 100, 50}), 1.75);
  EXPECT_DOUBLE_EQ(ceiling({}), 1);
}

}  // namespace
}  // namespace evener::plan
