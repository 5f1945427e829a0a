#include <gmock/gmock.h>

#include "parallel/data_parallel.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Steps on 100 samples at the rate that `rate(active)` says, until `until` or `most` steps; returns the steps done.
template <class Rate, class Until>
int run(Membership& membership, const std::vector<double>& speeds, int most, const Rate& rate, const Until& until) {
  for (int step = 0; step < most; ++step) {
    if (until()) return step;
    membership.observe(100, 100 / rate(membership.active()), speeds);
  }
  return most;
}

bool both(const std::vector<bool>& active) {
  return active[0] && active[1];
}

TEST(Membership, AReplicaThatHelpsIsNeverAskedToLeave) {
  Membership membership({10, 5});
  const int steps = run(
      membership, {10, 5}, 500, [](const auto&) { return 14.0; }, [&] { return !both(membership.active()); });
  EXPECT_EQ(steps, 500);
  EXPECT_EQ(membership.reason(), "");
}

TEST(Membership, AReplicaThatCostsMoreThanItBringsLeavesAndTheReasonSaysSo) {
  Membership membership({10, 5});
  const auto rate = [](const auto& active) { return both(active) ? 9.5 : 10.0; };
  const int left =
      run(membership, {10, 0.3}, 200, rate, [&] { return membership.reason().find("left") != std::string::npos; });
  EXPECT_LT(left, 60);
  EXPECT_THAT(membership.active(), ElementsAre(true, false));
  EXPECT_THAT(membership.reason(),
              HasSubstr("replica 1 left, its help costs more than it brings: 9.5 images/s with it, 10 "));
}

TEST(Membership, IsTriedAgainAndComesBackWhenItHelps) {
  Membership membership({10, 5});
  double together = 9.5;
  const auto rate = [&](const auto& active) { return both(active) ? together : 10.0; };
  run(membership, {10, 0.3}, 200, rate, [&] { return membership.reason().find("left") != std::string::npos; });
  together = 12;  // whatever held it up is over
  run(membership, {10, 2}, 300, rate, [&] { return membership.reason().find("back") != std::string::npos; });
  EXPECT_THAT(membership.active(), ElementsAre(true, true));
  EXPECT_THAT(membership.reason(), HasSubstr("replica 1 is back: 12 images/s with it, 10 without"));
}

TEST(Membership, TrialsBecomeRarer) {
  Membership membership({10, 5});
  const auto rate = [](const auto& active) { return both(active) ? 9.5 : 10.0; };
  int steps_together = 0;
  run(membership, {10, 0.3}, 4000, rate, [&] {
    steps_together += both(membership.active()) ? 1 : 0;
    return false;
  });
  EXPECT_LT(steps_together, 200);  // of 4000
  EXPECT_GT(steps_together, 50);   // but it was tried
}

TEST(Membership, TrialsNeverBecomeRarerThanThePauseOf3200Steps) {
  Membership membership({10, 5});
  const auto rate = [](const auto& active) { return both(active) ? 9.5 : 10.0; };
  std::vector<int> trials;  // steps at which the second came back on trial
  bool was_in = true;
  for (int step = 0; step < 20'000; ++step) {
    const bool is_in = both(membership.active());
    if (is_in && !was_in) trials.push_back(step);
    was_in = is_in;
    membership.observe(100, 100 / rate(membership.active()), {10, 0.3});
  }
  ASSERT_GT(trials.size(), 8U);
  for (std::size_t i = 1; i < trials.size(); ++i) EXPECT_LT(trials[i] - trials[i - 1], 3300);
  EXPECT_GT(trials.back() - trials[trials.size() - 2], 3200);
}

TEST(Membership, RankZeroStays) {
  Membership membership({10, 5});
  const auto rate = [](const auto& active) { return both(active) ? 9.5 : 10.0; };
  run(membership, {0.1, 10}, 300, rate, [&] { return false; });
  EXPECT_TRUE(membership.active()[0]);
}

TEST(Membership, OneThatPromisesNextToNothingStaysOutAtFirst) {
  Membership membership({100, 1, 30});
  EXPECT_THAT(membership.active(), ElementsAre(true, false, true));
  EXPECT_EQ(membership.reason(), "replica 1 waits: in a first probe it made 1 images/s, the fastest 100");
  const auto rate = [](const auto& active) { return active[1] ? 150.0 : 130.0; };
  const auto is_back = [&] { return membership.reason().find("back") != std::string::npos; };
  EXPECT_GT(run(membership, {100, 1, 30}, 1000, rate, is_back), 500);
  EXPECT_THAT(membership.active(), ElementsAre(true, true, true));
}

TEST(Membership, EndsAHopelessTrialAfterThreeStepsAndWaitsTheLonger) {
  Membership membership({10, 0.1});
  const auto rate = [](const auto& active) { return both(active) ? 0.5 : 10.0; };
  std::vector<int> together;  // steps that the second took part in
  for (int step = 0; step < 10'000; ++step) {
    if (both(membership.active())) together.push_back(step);
    membership.observe(100, 100 / rate(membership.active()), {10, 0.1});
  }
  // Each trial took the time of 57 steps more.
  EXPECT_THAT(together, ElementsAre(500, 501, 502, 6203, 6204, 6205));
}

TEST(Membership, IsTriedSoonWhenItIsHopelessFromTheStart) {
  Membership membership({10, 5});  // as the probe said
  const auto rate = [](const auto& active) { return both(active) ? 0.5 : 10.0; };
  EXPECT_LT(run(membership, {10, 0.3}, 100, rate, [&] { return !both(membership.active()); }), 10);
}

TEST(Membership, HopelessStepsSayNothingOfTheSpeedWithoutOneThatIsOut) {
  Membership membership({10, 0.1, 5});
  int step = 0;
  // Replica 1 waits for its trial at step 500, just when replica 2 has become hopeless.
  for (; step < 505; ++step) membership.observe(100, 100 / (step < 497 ? 15 : 0.5), {10, 0.1, 5});
  EXPECT_FALSE(membership.active()[1]) << membership.reason();
  EXPECT_FALSE(membership.active()[2]) << membership.reason();
}

TEST(Membership, SeveralMayLeave) {
  Membership membership({10, 0.3, 5, 0.3});
  const auto rate = [](const std::vector<bool>& active) { return 15.0 - (active[1] ? 1 : 0) - (active[3] ? 1 : 0); };
  run(membership, {10, 0.3, 5, 0.3}, 110, rate, [&] { return !membership.active()[1] && !membership.active()[3]; });
  EXPECT_THAT(membership.active(), ElementsAre(true, false, true, false));
}

TEST(Membership, AloneIsAlwaysTogether) {
  Membership membership({10});
  for (int step = 0; step < 100; ++step) membership.observe(10, 1, {10});
  EXPECT_THAT(membership.active(), ElementsAre(true));
}

}  // namespace
}  // namespace evener::parallel
