// What a sweep claims is true as often as it says: shown on sweeps whose truth is known, drawn by chance from fixed
// seeds, through the same schedule, stopping rule and claims as real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "record/repeats.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using test::claims_anything;
using test::simulate;
using test::simulated_record;
using test::SimulatedSweep;

constexpr int kTrials = 400;

int trials_with_a_claim(const record::SweepRecord& record, const SimulatedSweep& simulated, int trials) {
  int claims = 0;
  for (int trial = 0; trial < trials; ++trial) {
    claims += claims_anything(simulate(record, simulated, static_cast<std::uint64_t>(trial)));
  }
  return claims;
}

record::SweepRecord until(record::SweepRecord record, double width) {
  record.until_width = width;
  return record;
}

TEST(SweepTruth, WhatDoesNotDifferStaysUndecided) {
  const SimulatedSweep still{.speeds = {100, 100}};
  const SimulatedSweep drifting{.speeds = {100, 100}, .drift = 0.1, .drift_runs = 10};
  for (const SimulatedSweep& simulated : {still, drifting}) {
    for (const int repeats : {3, 5, 10}) {
      EXPECT_LE(trials_with_a_claim(simulated_record(2, repeats), simulated, kTrials), 0.07 * kTrials)
          << repeats << " repeats, drift " << simulated.drift;
    }
    EXPECT_LE(trials_with_a_claim(until(simulated_record(2, 5), 0.01), simulated, kTrials), 0.07 * kTrials)
        << "until the interval is narrow, drift " << simulated.drift;
  }
}

TEST(SweepTruth, FivePercentAreFoundAtOnePercentOfNoise) {
  for (const double drift : {0.0, 0.1}) {
    int found = 0;
    for (std::uint64_t trial = 0; trial < 100; ++trial) {
      const Sweep sweep =
          simulate(simulated_record(2, 5), {.speeds = {100, 105}, .drift = drift, .drift_runs = 10}, trial);
      found += sweep.cells[1].claim.verdict == record::Verdict::kFaster && sweep.jobs[0].winner == 1U;
    }
    EXPECT_GE(found, 95) << drift;
  }
}

TEST(SweepTruth, TwentyEqualCellsSeldomShowAWinner) {
  const SimulatedSweep simulated{.speeds = std::vector<double>(20, 100), .drift = 0.1, .drift_runs = 100};
  const int claims = trials_with_a_claim(simulated_record(20, 5), simulated, 400);
  std::printf("%d of 400 sweeps of 20 equal cells claim anything\n", claims);
  EXPECT_LE(claims, 20);
}

TEST(SweepTruth, OneOfTwentyThatIsBetterIsNamed) {
  SimulatedSweep simulated{.speeds = std::vector<double>(20, 100), .drift = 0.1, .drift_runs = 200};
  simulated.speeds[7] = 105;
  int named = 0;
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const Sweep sweep = simulate(simulated_record(20, 10), simulated, trial);
    ASSERT_EQ(sweep.jobs.size(), 1U);
    named += sweep.jobs[0].winner == 7U;
  }
  EXPECT_GE(named, 18);
}

TEST(SweepTruth, TwoRunsOfEachNameNoWinner) {
  const Sweep sweep = simulate(simulated_record(2, 2), {.speeds = {100, 200}}, 0);
  EXPECT_FALSE(claims_anything(sweep));
  EXPECT_FALSE(sweep.cells[1].claim.interval.has_value());
  EXPECT_TRUE(sweep.cells[1].claim.speedup.has_value());
}

TEST(SweepTruth, IntervalsOfSpeedupsCoverUnderADrift) {
  for (const auto& record : {simulated_record(2, 5), until(simulated_record(2, 5), 0.01)}) {
    int held = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      const Sweep sweep = simulate(record, {.speeds = {100, 160}, .drift = 0.1, .drift_runs = 10}, trial);
      const auto interval = sweep.cells[1].claim.interval.value();
      held += interval.low <= 1.6 && 1.6 <= interval.high;
    }
    EXPECT_GE(held, 0.93 * kTrials) << record::stopping_rule_text(record);
  }
}

TEST(SweepTruth, TheStoppingRuleTellsTheMeanAsCloselyAsAskedFor) {
  auto record = until(simulated_record(1, 5), 0.02);
  record.max_runs = 200;
  int close = 0, most = 0;
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    const Sweep sweep = simulate(record, {.speeds = {100}, .noise = 0.03}, trial);
    const SweepFigure& speed = *sweep.cells[0].figure("images_per_s");
    EXPECT_GE(speed.values.size(), 5U);
    EXPECT_LE(speed.values.size(), 200U);
    most += speed.values.size() == 200;
    close += std::abs(*speed.mean.mean / 100 - 1) <= 0.02;
  }
  EXPECT_LT(most, 5);
  EXPECT_GE(close, 95);
}

// Sixteen threads on four CPUs: as an engine that takes them all, and as one that takes as many as there are CPUs.
TEST(SweepTruth, ThreadsBeyondTheCpusAreNoWorkers) {
  SimulatedSweep simulated{.speeds = {}, .cpus = 4};
  for (const double workers : {1.0, 2.0, 4.0, 3.0}) simulated.speeds.push_back(100 / (0.1 + 0.9 / workers));
  std::vector<int> threads = {1, 2, 4, 16};
  simulated.threads = [&](std::size_t cell) { return threads[cell]; };
  for (const int ran : {16, 4}) {
    threads[3] = ran;
    const Sweep sweep = simulate(simulated_record(4, 10), simulated, 1);
    ASSERT_EQ(sweep.scalings.size(), 1U);
    EXPECT_THAT(sweep.scalings[0].cells, testing::ElementsAre(0, 1, 2));
    EXPECT_NEAR(sweep.scalings[0].scaling.fit->serial_share, 0.1, 0.02);
    EXPECT_THAT(
        sweep.notes,
        testing::ElementsAre(testing::HasSubstr(ran == 16 ? "on=way-3 is left out of the scaling: 16 threads on 4 CPUs"
                                                          : "on=way-3 ran as on=way-2: they computed the same")));
  }
}

TEST(SweepTruth, AmdahlsLawIsFoundAgain) {
  for (const double serial : {0.02, 0.1, 0.3}) {
    const std::vector<int> threads = {1, 2, 4, 8};
    SimulatedSweep simulated{.speeds = {}, .drift = 0.1, .drift_runs = 40};
    for (const int n : threads) simulated.speeds.push_back(100 / (serial + (1 - serial) / n));
    simulated.threads = [&](std::size_t cell) { return threads[cell]; };
    int held = 0;
    for (std::uint64_t trial = 0; trial < 100; ++trial) {
      const Sweep sweep = simulate(simulated_record(4, 10), simulated, trial);
      ASSERT_EQ(sweep.scalings.size(), 1U);
      const record::AmdahlFit& fit = sweep.scalings[0].scaling.fit.value();
      EXPECT_NEAR(fit.serial_share, serial, 0.02) << trial;
      const record::Interval interval = sweep.scalings[0].scaling.share_interval.value();
      held += interval.low <= serial && serial <= interval.high;
      const auto karp_flatt = sweep.scalings[0].scaling.workers[3].karp_flatt.value();
      EXPECT_NEAR(karp_flatt.mean, serial, 0.02);
    }
    EXPECT_GE(held, 93) << serial;
  }
}

}  // namespace
}  // namespace evener::report
