// Amdahl's law, fitted to times that are known.
#include "record/scaling_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace evener::record {
namespace {

std::vector<ScalingPoint> times_of(double share, std::initializer_list<int> workers) {
  std::vector<ScalingPoint> points;
  for (const int n : workers) points.push_back({n, 20 * (share + (1 - share) / n)});
  return points;
}

TEST(Amdahl, TheShareOfExactTimesComesBack) {
  const auto fit = fit_amdahl(times_of(0.1, {1, 2, 4, 8}));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->serial_share, 0.1, 1e-9);
  EXPECT_NEAR(fit->one_worker_s, 20, 1e-9);
  EXPECT_NEAR(fit->speedup(8), 1 / (0.1 + 0.9 / 8), 1e-9);
  EXPECT_NEAR(karp_flatt(fit->speedup(8), 8), 0.1, 1e-9);
}

TEST(Amdahl, TwoNumbersOfWorkersAreTheLeast) {
  EXPECT_FALSE(fit_amdahl({}));
  EXPECT_FALSE(fit_amdahl(times_of(0.1, {2, 2, 2})));
  EXPECT_FALSE(fit_amdahl(std::vector<ScalingPoint>{{1, 0}, {2, 1}}));
  const auto fit = fit_amdahl(times_of(0.3, {1, 2}));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->serial_share, 0.3, 1e-9);
  EXPECT_EQ(fit_amdahl(std::vector<ScalingPoint>{{1, 10}, {2, 4}})->serial_share, 0) << "faster than workers can be";
}

// Ten hours, three of them serial; with five workers the other seven become 35: one worker takes 38 hours for what five
// do in ten.
TEST(Gustafson, IsWorkThatGrowsWithTheWorkersByTheTimeOfOne) {
  EXPECT_NEAR(gustafson(0.3, 5), (3 + 5 * 7) / 10.0, 1e-12);
  const auto fit = fit_amdahl(times_of(0.3, {1, 2, 4, 8}));
  EXPECT_NEAR(fit->speedup(5), 10 / (3 + 7 / 5.0), 1e-9) << "Amdahl's is of the same work";
  EXPECT_EQ(gustafson(1, 5), 1);
  EXPECT_EQ(gustafson(0, 5), 5);
}

std::vector<BlockValue> seconds_of(const std::vector<std::pair<int, double>>& blocks) {
  std::vector<BlockValue> seconds;
  for (const auto& [block, value] : blocks) seconds.push_back({block, value});
  return seconds;
}

// In each block another share is serial, and the machine is slower from block to block.
TEST(Scaling, IsAMeanOverBlocksThatBothHave) {
  const Scaling scaling = scaling_of({{4, seconds_of({{1, 4.0}, {2, 10.0}, {3, 12.0}, {5, 1.0}})},
                                      {1, seconds_of({{1, 10.0}, {2, 20.0}, {3, 40.0}, {4, 1.0}})}});
  ASSERT_EQ(scaling.workers.size(), 2U);
  EXPECT_EQ(scaling.workers[0].workers, 1);
  EXPECT_FALSE(scaling.workers[0].speedup);
  const WorkersScaling& four = scaling.workers[1];
  const double speedup = std::cbrt(2.5 * 2 * (40 / 12.0));
  EXPECT_NEAR(four.speedup->mean, speedup, 1e-9);
  EXPECT_NEAR(four.efficiency->mean, speedup / 4, 1e-9);
  EXPECT_NEAR(four.karp_flatt->mean, (1 / speedup - 0.25) / 0.75, 1e-9);
  EXPECT_LT(four.karp_flatt->interval->low, four.karp_flatt->interval->high);
  // 4 / 10 = s + (1 - s) / 4 and so on: 0.2, 1 / 3 and 1 / 15. Mean 0.2, deviation 0.1333; t of 2 degrees is 4.3027.
  EXPECT_NEAR(scaling.share_interval->low, 0, 1e-9) << "no share is below 0";
  EXPECT_NEAR(scaling.share_interval->high, 0.2 + 4.302653 * (2 / 15.0) / std::sqrt(3), 1e-5);
}

// In blocks 1 to 3 half of the work is serial. In the fourth, without three workers, all of it seems to be.
TEST(Scaling, OnlyBlocksWithAllNumbersOfWorkersTellTheShare) {
  const std::vector<std::pair<int, double>> alone = {{1, 12.0}, {2, 24.0}, {3, 36.0}};
  std::vector<WorkersRuns> runs = {{1, seconds_of(alone)}, {2, {}}, {3, {}}};
  for (const auto& [block, seconds] : alone) {
    runs[1].seconds.push_back({block, seconds * 0.75});
    runs[2].seconds.push_back({block, seconds * 2 / 3});
  }
  runs[0].seconds.push_back({4, 12});
  runs[1].seconds.push_back({4, 12});
  const Scaling scaling = scaling_of(runs);
  EXPECT_NEAR(scaling.share_interval->low, 0.5, 1e-9);
  EXPECT_NEAR(scaling.share_interval->high, 0.5, 1e-9);
}

TEST(Scaling, TwoBlocksHaveNoInterval) {
  const Scaling scaling = scaling_of({{2, seconds_of({{1, 10.0}, {2, 12.0}})}, {3, seconds_of({{1, 8.0}, {2, 9.0}})}});
  EXPECT_NEAR(scaling.workers[1].efficiency->mean, std::sqrt(10 / 8.0 * 12 / 9.0) / 1.5, 1e-9);
  EXPECT_FALSE(scaling.workers[1].speedup->interval);
  EXPECT_FALSE(scaling.workers[1].karp_flatt) << "nobody has been alone";
  EXPECT_FALSE(scaling.share_interval);
  EXPECT_TRUE(scaling.fit);
}

}  // namespace
}  // namespace evener::record
