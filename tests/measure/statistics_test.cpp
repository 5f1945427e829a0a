#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/statistics.h"

namespace evener::measure {
namespace {

std::vector<double> noisy(double mean, double spread, int count, std::uint64_t key) {
  std::vector<double> samples;
  for (int n = 0; n < count; ++n) {
    samples.push_back(mean + spread * Random(3, Purpose::kSynthetic, key, static_cast<std::uint64_t>(n)).normal());
  }
  return samples;
}

TEST(Statistics, IntervalHoldsTheMedianAndRepeats) {
  const std::vector<double> samples = noisy(100, 5, 40, 1);
  const Interval interval = *median_interval(samples);
  EXPECT_LT(interval.low, *median(samples));
  EXPECT_GT(interval.high, *median(samples));
  EXPECT_EQ(median_interval(samples), interval);
  EXPECT_NE(median_interval(samples, 2), interval);
  EXPECT_EQ(median_interval(std::vector<double>{1, 2}), std::nullopt);
}

// The known truth: of many sources with median 100, about 95 % of the intervals hold 100.
TEST(Statistics, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int covered = 0;
  constexpr int kSources = 200;
  for (int source = 0; source < kSources; ++source) {
    const Interval interval = *median_interval(noisy(100, 5, 25, 100 + static_cast<std::uint64_t>(source)));
    covered += interval.low <= 100 && 100 <= interval.high;
  }
  EXPECT_GE(covered, 0.90 * kSources);  // 95 % less three standard deviations of 200 trials
  EXPECT_LT(covered, kSources);         // an interval that always covers says nothing
}

TEST(Statistics, ComparisonIsFasterSlowerOrUndecided) {
  const std::vector<double> slow = noisy(100, 2, 10, 1), fast = noisy(150, 2, 10, 2), same = noisy(100, 2, 10, 3);
  const Comparison faster = compare_rates(slow, fast);
  EXPECT_EQ(faster.verdict, Verdict::kFaster);
  EXPECT_NEAR(*faster.ratio, 1.5, 0.05);
  EXPECT_LT(faster.interval->low, *faster.ratio);
  EXPECT_EQ(compare_rates(fast, slow).verdict, Verdict::kSlower);
  const Comparison undecided = compare_rates(slow, same);
  EXPECT_EQ(undecided.verdict, Verdict::kUndecided);
  EXPECT_NE(undecided.reason.find("contains 1"), std::string::npos);
}

TEST(Statistics, TooFewSamplesAreNeverDecided) {
  const std::vector<double> two{100, 101}, many = noisy(500, 1, 20, 1);
  const Comparison comparison = compare_rates(two, many);
  EXPECT_EQ(comparison.verdict, Verdict::kUndecided);
  EXPECT_TRUE(comparison.ratio.has_value());
  EXPECT_NE(comparison.reason.find("too few"), std::string::npos);
  EXPECT_EQ(compare_rates({}, many).ratio, std::nullopt);
}

TEST(Statistics, SharesDifferByTheirCounts) {
  EXPECT_FALSE(shares_differ(0.97, 100, 0.95, 100));
  EXPECT_TRUE(shares_differ(0.97, 10000, 0.95, 10000));
  EXPECT_FALSE(shares_differ(1, 50, 1, 50));
  EXPECT_FALSE(shares_differ(0.9, 0, 0.1, 100));
}

TEST(Throughput, LeavesOutTheFirstEpoch) {
  const Throughput throughput = training_throughput(std::vector<double>{1, 30, 10, 20}, std::vector<double>(50, 7));
  EXPECT_EQ(throughput.median, 20);
  EXPECT_EQ(throughput.samples.size(), 3u);
  EXPECT_EQ(throughput.over, "epochs after the first");
  EXPECT_TRUE(throughput.interval.has_value());
}

TEST(Throughput, TakesStepsAfterTheTenthOfOneEpoch) {
  std::vector<double> steps(10, 1);
  steps.insert(steps.end(), {40, 50, 60});
  const Throughput throughput = training_throughput(std::vector<double>{9}, steps);
  EXPECT_EQ(throughput.median, 50);
  EXPECT_EQ(throughput.over, "steps after the tenth");
}

TEST(Throughput, IsAbsentWithAReasonForAShortRun) {
  const Throughput throughput = training_throughput(std::vector<double>{9}, std::vector<double>(10, 5));
  EXPECT_EQ(throughput.median, std::nullopt);
  EXPECT_NE(throughput.reason.find("1 epoch(s) and 10 steps"), std::string::npos);
}

}  // namespace
}  // namespace evener::measure
