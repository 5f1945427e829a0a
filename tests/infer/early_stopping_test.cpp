#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/statistics.h"
#include "infer/scenarios/run_log.h"
#include "infer/simulated_lanes_helpers.h"

namespace evener::inference {
namespace {

/// The latencies 1, 2, ... n seconds.
std::vector<double> one_to(std::size_t n) {
  std::vector<double> latencies(n);
  std::iota(latencies.begin(), latencies.end(), 1.0);
  return latencies;
}

TEST(EarlyStopping, TheIncompleteBetaFunctionIsTheBinomialDistribution) {
  EXPECT_DOUBLE_EQ(incomplete_beta(0.3, 1, 1), 0.3);  // uniform
  // No failure in 459 trials; exp(lgamma(460)) keeps some 12 digits.
  EXPECT_NEAR(incomplete_beta(0.99, 459, 1), std::pow(0.99, 459), 1e-14);
  EXPECT_NEAR(incomplete_beta(0.5, 3, 3), 0.5, 1e-15);  // symmetric
  EXPECT_NEAR(incomplete_beta(0.9, 2, 3), 1 - incomplete_beta(0.1, 3, 2), 1e-15);
  // At most 2 failures among 5 trials of success 0.8: 0.8^5 + 5 * 0.2 * 0.8^4 + 10 * 0.04 * 0.8^3.
  EXPECT_NEAR(incomplete_beta(0.8, 3, 3), 0.94208, 1e-14);
  // A million trials: the normal approximation has an error of some 1 / sqrt(n p q) = 0.003.
  EXPECT_NEAR(incomplete_beta(0.9, 900'000, 100'001), 0.5, 0.003);
  EXPECT_EQ(incomplete_beta(0, 2, 2), 0);
  EXPECT_EQ(incomplete_beta(1, 2, 2), 1);
}

TEST(EarlyStopping, TheFewestQueriesAreThoseOfLoadGen) {
  EXPECT_EQ(smallest_total(0.9), 64);
  EXPECT_EQ(smallest_total(0.95), 130);
  EXPECT_EQ(smallest_total(0.97), 219);
  EXPECT_EQ(smallest_total(0.99), 662);
  EXPECT_EQ(smallest_total(0.999), 6636);
}

// The numbers here and below are exact sums of the binomial distribution, computed elsewhere.
TEST(EarlyStopping, LateQueriesAreMadeUpForByOthers) {
  EXPECT_EQ(fewest_in_time(0, 0.9), 44);
  EXPECT_EQ(fewest_in_time(2, 0.9), 79);
  EXPECT_EQ(fewest_in_time(100, 0.9), 1146);
  EXPECT_EQ(fewest_in_time(0, 0.99), 459);
  EXPECT_EQ(fewest_in_time(5, 0.99), 1302);
  EXPECT_EQ(fewest_in_time(100, 0.99), 12'471);
  EXPECT_EQ(fewest_in_time(10, 0.999), 20'130);
}

TEST(EarlyStopping, SoManyMayBeLate) {
  EXPECT_EQ(allowed_late(0, 0.99), std::nullopt);
  EXPECT_EQ(allowed_late(458, 0.99), std::nullopt);
  EXPECT_EQ(allowed_late(459, 0.99), 0);
  EXPECT_EQ(allowed_late(661, 0.99), 0);
  EXPECT_EQ(allowed_late(662, 0.99), 1);
  EXPECT_EQ(allowed_late(10'000, 0.99), 77);
  EXPECT_EQ(allowed_late(100'000, 0.99), 927);
  EXPECT_EQ(allowed_late(24'576, 0.9), 2348);
}

TEST(EarlyStopping, TheEstimateLeavesTheSlowestOut) {
  EXPECT_FALSE(early_stopping_estimate(one_to(63), 0.9));
  EXPECT_EQ(early_stopping_estimate(one_to(64), 0.9)->latency_s, 64);  // the slowest of all
  EXPECT_EQ(early_stopping_estimate(one_to(64), 0.9)->discarded, 0);
  EXPECT_EQ(early_stopping_estimate(one_to(1000), 0.9)->latency_s, 923);  // 78 may be late: without the slowest 77
  EXPECT_EQ(early_stopping_estimate(one_to(1000), 0.9)->discarded, 77);
  EXPECT_EQ(early_stopping_estimate(one_to(10'000), 0.99)->latency_s, 9924);
  EXPECT_FALSE(early_stopping_estimate({}, 0.9));
}

TEST(EarlyStopping, PlainPercentilesAreLoadGens) {
  EXPECT_EQ(plain_percentile(one_to(100), 0.5), 51);
  EXPECT_EQ(plain_percentile(one_to(100), 0.9), 91);
  EXPECT_EQ(plain_percentile(one_to(100), 0.999), 100);
  EXPECT_EQ(plain_percentile(one_to(1), 0.99), 1);
}

// The percentile of an exponential distribution is known: an estimate may lie below it once in a hundred times.
TEST(EarlyStopping, TheEstimateHoldsNinetyNineTimesInAHundred) {
  const double truth = -std::log(1 - 0.9);
  constexpr int kTimes = 1000;
  int below = 0;
  for (int n = 0; n < kTimes; ++n) {
    const auto next = test::exponential_times(1, static_cast<std::uint64_t>(n));
    std::vector<double> latencies(300);
    for (double& latency : latencies) latency = next();
    std::ranges::sort(latencies);
    if (early_stopping_estimate(latencies, 0.9)->latency_s < truth) ++below;
  }
  EXPECT_LE(below, 20);  // three standard deviations above ten
  EXPECT_GT(below, 0);   // nor is it more careful than it says
}

}  // namespace
}  // namespace evener::inference
