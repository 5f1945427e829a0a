#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "record/statistics.h"

namespace evener::record {
namespace {

std::vector<double> noisy(double mean, double spread, int count, std::uint64_t key) {
  std::vector<double> samples;
  for (int n = 0; n < count; ++n) {
    samples.push_back(mean + spread * Random(3, Purpose::kSynthetic, key, static_cast<std::uint64_t>(n)).normal());
  }
  return samples;
}

TEST(Statistics, IntervalsEndAtSamples) {
  // Of ten independent samples the second from either end: 1 - 2 (1 + 10) / 1024 = 97.9 %.
  const std::vector<double> mixed{5, 1, 9, 3, 7, 10, 2, 8, 4, 6};
  EXPECT_EQ(median_interval(mixed), (Interval{2, 9}));
  EXPECT_EQ(median_interval(std::vector<double>(12, 5.0)), (Interval{5, 5}));
  EXPECT_EQ(median_interval(std::vector<double>{5, 1, 9, 3, 7, 10, 2, 8, 4}), std::nullopt);
  EXPECT_EQ(range(mixed), (Interval{1, 10}));
  EXPECT_EQ(range({}), std::nullopt);
}

TEST(Statistics, SharesOfFewAreUncertain) {
  // Of 4 of 4: all four are right in one of forty cases.
  EXPECT_NEAR(share_interval(1, 4).low, std::pow(0.025, 0.25), 1e-9);
  EXPECT_DOUBLE_EQ(share_interval(0, 4).low, 0);
  EXPECT_NEAR(share_interval(0, 4).high, 1 - std::pow(0.025, 0.25), 1e-9);
  EXPECT_DOUBLE_EQ(share_interval(1, 4).high, 1);
  EXPECT_NEAR(share_interval(0.5, 100).low, 0.3983, 1e-4);
  EXPECT_NEAR(share_interval(0.5, 100).high, 0.6017, 1e-4);
  EXPECT_EQ(share_interval(0.5, 0), (Interval{0, 1}));
  EXPECT_NEAR(chance_of_at_least(8, 10, 0.5), 56.0 / 1024, 1e-9);
  EXPECT_DOUBLE_EQ(chance_of_at_least(0, 10, 0.5), 1);
  EXPECT_DOUBLE_EQ(chance_of_at_least(11, 10, 0.5), 0);
  EXPECT_DOUBLE_EQ(chance_of_at_least(10, 10, 1), 1);
  EXPECT_EQ(share_interval_text(1, 4), "40 to 100 %");
  EXPECT_EQ(share_interval_text(0, 1000), "0 to 0.4 %");
  EXPECT_EQ(share_interval_text(1, 1000), "99.6 to 100 %");
}

// Exactly, without chance: the probability of all numbers whose interval holds the share.
TEST(Statistics, IntervalsOfSharesHoldWhateverTheShareIs) {
  for (const std::int64_t count : {1, 4, 10, 29, 90}) {
    std::vector<Interval> of;
    for (std::int64_t seen = 0; seen <= count; ++seen) {
      of.push_back(share_interval(static_cast<double>(seen) / static_cast<double>(count), count));
    }
    for (double share = 0.001; share < 1; share += 0.007) {
      double held = 0;
      for (std::int64_t seen = 0; seen <= count; ++seen) {
        const Interval& interval = of[static_cast<std::size_t>(seen)];
        if (interval.low > share || share > interval.high) continue;
        held += chance_of_at_least(seen, count, share) - chance_of_at_least(seen + 1, count, share);
      }
      EXPECT_GE(held, 0.95) << share << " of " << count;
    }
  }
}

TEST(Statistics, IntervalsAreWiderWhereNeighboursAreAlike) {
  std::vector<double> mixed, sorted;
  for (int n = 0; n < 30; ++n) {
    mixed.push_back(n * 11 % 30);
    sorted.push_back(n);
  }
  EXPECT_LT(median_interval(mixed)->high, median_interval(sorted)->high);
  EXPECT_EQ(median_interval(sorted), (Interval{0, 29}));
}

TEST(Statistics, IntervalsOfThousandsOfSamplesAreNarrow) {
  const Interval interval = median_interval(noisy(100, 5, 5000, 1)).value();
  EXPECT_NEAR(interval.low, 100, 0.5);
  EXPECT_NEAR(interval.high, 100, 0.5);
  EXPECT_LT(interval.low, interval.high);
}

TEST(Statistics, ComparisonIsFasterSlowerOrUndecided) {
  const std::vector<double> slow = noisy(100, 2, 20, 1), fast = noisy(150, 2, 20, 2), same = noisy(100, 2, 20, 3);
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
  const std::vector<double> three{100, 101, 100}, many = noisy(500, 1, 20, 1);
  const Comparison comparison = compare_rates(three, many);
  EXPECT_EQ(comparison.verdict, Verdict::kUndecided);
  EXPECT_TRUE(comparison.ratio.has_value());
  EXPECT_NE(comparison.reason.find("too few"), std::string::npos);
  EXPECT_EQ(compare_rates({}, many).ratio, std::nullopt);
}

TEST(Statistics, SharesDifferByTheirCounts) {
  EXPECT_FALSE(shares_differ(0.97, 100, 0.95, 100));
  EXPECT_FALSE(shares_differ(0.5, 100, 0.63, 100)) << "1.85 standard errors: 90 % would call it a difference";
  EXPECT_TRUE(shares_differ(0.5, 100, 0.64, 100)) << "2.0 standard errors";
  EXPECT_TRUE(shares_differ(0.97, 10000, 0.95, 10000));
  EXPECT_FALSE(shares_differ(1, 50, 1, 50));
  EXPECT_FALSE(shares_differ(0.9, 0, 0.1, 100));
}

TEST(Throughput, IsTheMedianOverBlocksOfStepsAfterTheFirstEpoch) {
  std::vector<double> later;
  for (int n = 0; n < 21; ++n) later.push_back(20 + n);
  const Throughput throughput = training_throughput({std::vector<double>(50, 7), 1}, {later, 4});
  EXPECT_EQ(throughput.median, 30);
  EXPECT_EQ(throughput.samples, later);
  EXPECT_EQ(throughput.over, "blocks of 4 steps after the first epoch");
  EXPECT_TRUE(throughput.interval.has_value());
}

TEST(Throughput, TakesTheFirstEpochWhereTooLittleCameAfterIt) {
  const Throughput alone = training_throughput({{40, 50, 60}, 1}, {});
  EXPECT_EQ(alone.median, 50);
  EXPECT_EQ(alone.over, "steps after the tenth step");
  EXPECT_FALSE(alone.interval.has_value());
  EXPECT_EQ(training_throughput({std::vector<double>(20, 7), 2}, {{9}, 1}).over,
            "blocks of 2 steps after the tenth step");
  EXPECT_EQ(training_throughput({{7}, 1}, {{9, 9}, 1}).over, "steps after the first epoch");
}

TEST(Throughput, IsAbsentWithAReasonForAShortRun) {
  const Throughput throughput = training_throughput({}, {});
  EXPECT_EQ(throughput.median, std::nullopt);
  EXPECT_NE(throughput.reason.find("warm-up"), std::string::npos);
}

TEST(BlockRates, AreOfEquallyManyImagesAndAtLeastFourBunches) {
  std::vector<double> times_s;
  for (int n = 1; n <= 400; ++n) times_s.push_back(n <= 20 ? 0.5 * n : 10 + 0.1 * (n - 20));  // it warms up
  const std::vector<double> rates = block_rates(times_s, 1);
  ASSERT_EQ(rates.size(), 20U);
  EXPECT_NEAR(rates[0], 2, 1e-9);
  EXPECT_NEAR(rates[1], 10, 1e-9);
  EXPECT_EQ(block_rates(times_s, 25).size(), 4U);
  EXPECT_EQ(block_rates(times_s, 60).size(), 1U);  // less than two parts: all together
  EXPECT_NEAR(block_rates(times_s, 60).front(), 400 / 48.0, 1e-9);
  EXPECT_TRUE(block_rates({}, 1).empty());
}

// What is called an interval of 95 % covers the truth as often, whatever the noise: shown by simulation.

constexpr double kTruth = 100;  // the median of every noise below
constexpr int kTrials = 500;
constexpr int kFewest = 10, kMost = 30;  // samples

/// A noise whose samples' median is 0.
struct Noise {
  const char* name;
  std::function<std::vector<double>(Random&, int)> draw;
  int from = kFewest;  // so many samples on intervals hold: fewer don't show how long it lasts
};

/// Neighbours have so much of their deviation in common.
std::vector<double> lasting(Random& random, int count, double likeness) {
  std::vector<double> noise = {random.normal()};
  while (static_cast<int>(noise.size()) < count) {
    noise.push_back(likeness * noise.back() + std::sqrt(1 - likeness * likeness) * random.normal());
  }
  return noise;
}

std::vector<double> independent(int count, const std::function<double()>& one) {
  std::vector<double> noise;
  for (int n = 0; n < count; ++n) noise.push_back(one());
  return noise;
}

const std::vector<Noise>& noises() {
  static const std::vector<Noise> all = {
      {"normal", [](Random& random, int count) { return independent(count, [&] { return random.normal(); }); }},
      // Steps are held up now and then and never hurried: rates have their tail below.
      {"skewed (exponential)",
       [](Random& random, int count) {
         return independent(count, [&] { return std::log(2.0) + std::log(1 - random.uniform()); });
       }},
      {"skewed (lognormal)",
       [](Random& random, int count) { return independent(count, [&] { return 1 - std::exp(random.normal()); }); }},
      // A processor that becomes warm.
      {"falling",
       [](Random& random, int count) {
         std::vector<double> noise;
         for (int n = 0; n < count; ++n) noise.push_back(random.normal() + 2 - 4 * (n + 0.5) / count);
         return noise;
       }},
      {"outliers",
       [](Random& random, int count) {
         return independent(count, [&] { return random.normal() + (random.uniform() < 0.1 ? 20 : 0) - 0.1397; });
       }},
      // Other work comes and goes.
      {"lasting, neighbours alike by 0.5", [](Random& random, int count) { return lasting(random, count, 0.5); }},
      {"lasting, neighbours alike by 0.7", [](Random& random, int count) { return lasting(random, count, 0.7); }, 15},
      {"lasting, neighbours alike by 0.8", [](Random& random, int count) { return lasting(random, count, 0.8); }, 20},
  };
  return all;
}

std::vector<double> rates(const Noise& noise, int count, std::uint64_t trial) {
  Random random(7, Purpose::kSynthetic, hash_text(noise.name) + static_cast<std::uint64_t>(count), trial);
  std::vector<double> rates = noise.draw(random, count);
  for (double& rate : rates) rate = kTruth + rate;
  return rates;
}

/// What is left to chance in a share of `trials`: three standard errors.
double chance(double share, int trials) {
  return 3 * std::sqrt(share * (1 - share) / trials);
}

TEST(Coverage, IntervalsHoldTheTruthAsOftenAsTheySay) {
  for (const Noise& noise : noises()) {
    int held = 0, given = 0;
    for (int count = 3; count <= kMost; ++count) {
      int held_of_count = 0, given_of_count = 0;
      for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
        const auto interval = median_interval(rates(noise, count, trial));
        ASSERT_EQ(interval.has_value(), count >= kFewest) << noise.name << ", " << count;
        if (!interval || count < noise.from) continue;
        ++given_of_count;
        held_of_count += interval->low <= kTruth && kTruth <= interval->high;
      }
      if (given_of_count == 0) continue;
      EXPECT_GE(held_of_count, (0.93 - chance(0.93, given_of_count)) * given_of_count) << noise.name << ", " << count;
      held += held_of_count;
      given += given_of_count;
    }
    EXPECT_GE(held, 0.93 * given) << noise.name;
    EXPECT_EQ(given, (kMost + 1 - noise.from) * kTrials) << noise.name;
  }
}

TEST(Coverage, IntervalsAreNoWiderThanTheyMustBe) {
  double width = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const auto interval = median_interval(rates(noises()[0], 30, trial)).value();
    width += (interval.high - interval.low) / kTrials;
  }
  // 2 x 1.96 x 1.2533 / sqrt(30) = 0.90 is the width of a median's interval if the noise were known to be normal.
  EXPECT_LT(width, 1.5 * 0.9);
}

TEST(Coverage, EqualSpeedsAreSeldomCalledDifferent) {
  for (const Noise& noise : noises()) {
    for (const int count : {3, 4, 10, 12, 20, 30}) {
      if (count >= kFewest && count < noise.from) continue;
      int wrong = 0;
      for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
        const auto a = rates(noise, count, 2 * trial), b = rates(noise, count, 2 * trial + 1);
        wrong += compare_rates(a, b).verdict != Verdict::kUndecided;
      }
      EXPECT_LE(wrong, (0.05 + chance(0.05, kTrials)) * kTrials) << noise.name << ", " << count;
    }
  }
}

TEST(Coverage, DifferencesAreFound) {
  for (const Noise& noise : noises()) {
    if (noise.from > kFewest) continue;  // intervals are wide then
    int found = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      auto slow = rates(noise, 20, 2 * trial), fast = rates(noise, 20, 2 * trial + 1);
      for (double& rate : fast) rate *= 1.05;  // five standard deviations
      found += compare_rates(slow, fast).verdict == Verdict::kFaster;
    }
    // Outliers of twenty deviations hide a difference of five.
    EXPECT_GE(found, (noise.name == std::string("outliers") ? 0.8 : 0.9) * kTrials) << noise.name << ": " << found;
  }
}

}  // namespace

}  // namespace evener::record
