// Amdahl's law, fitted to times that are known.
#include "measure/scaling_law.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace evener::measure {
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
  // A tenth of the work is serial: half of the time of 9 workers.
  EXPECT_NEAR(gustafson(*fit, 9), 9 - 0.5 * 8, 1e-9);
  EXPECT_NEAR(fit->interval->low, 0.1, 1e-6);
  EXPECT_NEAR(fit->interval->high, 0.1, 1e-6);
}

TEST(Amdahl, TwoNumbersOfWorkersAreTheLeast) {
  EXPECT_FALSE(fit_amdahl({}));
  EXPECT_FALSE(fit_amdahl(times_of(0.1, {2, 2, 2})));
  EXPECT_FALSE(fit_amdahl(std::vector<ScalingPoint>{{1, 0}, {2, 1}}));
  const auto fit = fit_amdahl(times_of(0.3, {1, 2}));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->serial_share, 0.3, 1e-9);
  EXPECT_FALSE(fit->interval);
  EXPECT_EQ(fit_amdahl(std::vector<ScalingPoint>{{1, 10}, {2, 4}})->serial_share, 0) << "faster than workers can be";
}

TEST(Amdahl, TheIntervalCoversTheShare) {
  Random random(3, Purpose::kInit);
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<ScalingPoint> points = times_of(0.2, {1, 2, 4, 1, 2, 4, 1, 2, 4});
    for (ScalingPoint& point : points) point.seconds *= 1 + 0.03 * random.normal();
    const auto fit = fit_amdahl(points);
    covered += fit->interval->low <= 0.2 && 0.2 <= fit->interval->high ? 1 : 0;
  }
  EXPECT_GT(covered, 0.93 * kTrials);
  EXPECT_LT(covered, 0.98 * kTrials);
}

}  // namespace
}  // namespace evener::measure
