// What is called an interval of 95 % covers the truth as often, whatever the noise: shown by simulation.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "record/statistics.h"

namespace evener::record {
namespace {

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
