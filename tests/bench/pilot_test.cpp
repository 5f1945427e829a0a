// How long pilot runs say that a run has to be, on runs whose noise the test makes up.
#include "bench/sweep/pilot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"

namespace evener::bench {
namespace {

/// A run whose speed is 100 images/s in each of `samples` samples but for `noise`, of which neighbours are alike.
record::Record run_of(int samples, double noise, double likeness, std::uint64_t seed) {
  Random random(seed, Purpose::kBootstrap);
  std::vector<double> rates;
  double now = random.normal();
  for (int n = 0; n < samples; ++n) {
    rates.push_back(100 * (1 + noise * now));
    now = likeness * now + std::sqrt(1 - likeness * likeness) * random.normal();
  }
  record::Record record;
  record.images_per_s = record::throughput_of(std::move(rates), "blocks");
  return record;
}

double standard_deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

TEST(Pilot, RunsOfTheLengthThatItFindsDeviateAsLittleAsWasAskedFor) {
  constexpr int kSamplesPerSecond = 10, kSweeps = 60, kRuns = 60;
  constexpr double kAsked = 0.01;
  for (const double likeness : {0.0, 0.4}) {
    int within = 0, lengthened = 0;
    for (std::uint64_t sweep = 0; sweep < kSweeps; ++sweep) {
      std::uint64_t seed = 1000 * (sweep + 1);
      const auto pilot = [&](double length) {
        const auto run = run_of(static_cast<int>(length * kSamplesPerSecond), 0.06, likeness, seed++);
        return PilotRun{.failure = {}, .seconds = length, .deviation = deviation_within(run)};
      };
      const FoundLength found = steady_length(1, {.deviation = kAsked}, pilot);
      std::vector<double> speeds;
      for (int n = 0; n < kRuns; ++n) {
        const auto run = run_of(static_cast<int>(found.length * kSamplesPerSecond), 0.06, likeness, seed++);
        speeds.push_back(run.images_per_s.median.value() / 100);
      }
      // A standard deviation of so many runs is itself known to a tenth.
      within += standard_deviation(speeds) <= 1.1 * kAsked ? 1 : 0;
      lengthened += found.length > 2 ? 1 : 0;
    }
    EXPECT_GE(within, 0.8 * kSweeps) << "neighbours alike by " << likeness;
    EXPECT_GE(lengthened, 0.95 * kSweeps) << "a second deviates by 2 %";
  }
}

/// The lengths of the pilot runs that are made where a run deviates by 10 % of the root of its length.
std::vector<double> lengths_of(double first, const PilotGoal& goal, double seconds_of_one = 1, double energy_s = 0) {
  std::vector<double> lengths;
  steady_length(first, goal, [&](double length) {
    lengths.push_back(length);
    return PilotRun{.failure = {},
                    .seconds = length * seconds_of_one,
                    .deviation = 0.1 / std::sqrt(length),
                    .energy_needs = std::max(1.0, energy_s / length)};
  });
  return lengths;
}

TEST(Pilot, GrowsByWhatTheDeviationSaysWithinBounds) {
  using Lengths = std::vector<double>;
  EXPECT_EQ(lengths_of(1, {.deviation = 0.1}), Lengths{1}) << "steady from the first";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.05}), (Lengths{1, 4.8}));
  EXPECT_EQ(lengths_of(1, {.deviation = 0.099}), (Lengths{1, 1.5})) << "half as long again at least";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.02}), (Lengths{1, 8, 30})) << "eight times at most, then 8 x 3.75";
  EXPECT_EQ(lengths_of(3, {.deviation = 0.05, .is_whole = true}), (Lengths{3, 5})) << "whole epochs";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.02, .longest_run_s = 20}), (Lengths{1, 8, 20})) << "no longer than that";
  EXPECT_EQ(lengths_of(3, {.deviation = 0.05, .longest_run_s = 9, .is_whole = true}, 2), (Lengths{3, 4}));
  EXPECT_EQ(lengths_of(1, {.deviation = 0.1}, 1, 3), (Lengths{1, 3.6})) << "a sensor of energy needs three seconds";
  EXPECT_LE(lengths_of(0.001, {.deviation = 0.001}).size(), 5U);
}

TEST(Pilot, AFailureKeepsTheLengthBeforeIt) {
  const auto failing_from = [](double too_long) {
    return steady_length(1, {.deviation = 0.01}, [&](double length) {
      if (length >= too_long) return PilotRun{.failure = "out of memory"};
      return PilotRun{.failure = {}, .seconds = length, .deviation = 0.02};
    });
  };
  const FoundLength grown = failing_from(20);
  EXPECT_EQ(grown.length, 4.8);
  EXPECT_EQ(grown.last.failure, "");
  EXPECT_FALSE(grown.is_steady);
  EXPECT_EQ(failing_from(1).length, 1);
  EXPECT_EQ(failing_from(1).last.failure, "out of memory");
}

TEST(Pilot, WithoutADeviationItTriesFourTimesTheLength) {
  std::vector<double> lengths;
  const FoundLength found = steady_length(1, {.deviation = 0.05}, [&](double length) {
    lengths.push_back(length);
    return PilotRun{.failure = {}, .seconds = length, .deviation = deviation_within(run_of(3 * length, 0.01, 0, 1))};
  });
  EXPECT_EQ(lengths, (std::vector<double>{1, 4}));
  EXPECT_TRUE(found.is_steady);
  EXPECT_FALSE(deviation_within(run_of(9, 0.01, 0, 1)));
  EXPECT_FALSE(deviation_within({}));
}

TEST(Pilot, ASensorOfEnergyWhoseValuesComeSeldomNeedsTenOfThem) {
  record::Record record;
  record.energy.seconds = 2;
  record.energy.devices = std::vector<record::DeviceEnergy>(2);
  record.energy.devices[0].update_period_s = 1;
  record.energy.devices[1].update_period_s = 0.001;
  EXPECT_EQ(energy_needs(record), 5);
  record.energy.joules = 40;
  EXPECT_EQ(energy_needs(record), 1) << "it was measured";
  EXPECT_EQ(energy_needs({}), 1);
}

}  // namespace
}  // namespace evener::bench
