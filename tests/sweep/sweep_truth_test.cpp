// What a sweep claims is true as often as it says: shown on sweeps whose truth is known, drawn by chance from fixed
// seeds, through the same schedule, stopping rule and claims as real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "record/repeats.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/run/runner.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using record::BlockValue;
using test::claims_anything;
using test::Disturbance;
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

// What a sweep calls an interval of 95 % holds the truth as often, and what doesn't differ is seldom claimed to,
// however the machine is disturbed: on sweeps whose truth is known, in the order of real ones. Nothing here depends on
// the machine that it runs on. EVENER_SIMULATIONS=20000 makes it longer, and prints the table of docs/measuring.md.

bool is_long() {
  return std::getenv("EVENER_SIMULATIONS") != nullptr;
}

int trials_or(int few) {
  return is_long() ? std::max(few, std::atoi(std::getenv("EVENER_SIMULATIONS"))) : few;
}

/// What is left to chance in a share that is counted in so many trials: three standard errors.
double chance(double share, int trials) {
  return 3 * std::sqrt(share * (1 - share) / trials);
}

/// The figures of all runs of a sweep of cells whose speeds are known, by cell, in the order of its blocks.
std::vector<std::vector<BlockValue>> runs_of(const std::vector<double>& speeds, int blocks,
                                             const Disturbance& disturbance, std::uint64_t trial) {
  Random random(13, Purpose::kSynthetic, hash_text(disturbance.name) + static_cast<std::uint64_t>(blocks), trial);
  const auto next = disturbance.begin(static_cast<double>(speeds.size()) * blocks);
  std::vector<std::vector<BlockValue>> runs(speeds.size());
  for (int block = 1; block <= blocks; ++block) {
    for (const std::size_t cell : block_order(speeds.size(), trial, record::kMeasurePart, block)) {
      runs[cell].push_back({block, speeds[cell] * std::exp(next(random))});
    }
  }
  return runs;
}

bool holds(const std::optional<record::Interval>& interval, double truth) {
  return interval && interval->low <= truth && truth <= interval->high;
}

void tell(const char* what, const Disturbance& disturbance, int blocks, int held, int trials) {
  if (is_long()) std::printf("| %s | %s | %d | %.1f %% |\n", what, disturbance.name, blocks, 100.0 * held / trials);
}

TEST(SweepCoverage, IntervalsOfRatiosHold) {
  const int trials = trials_or(1500);
  for (const Disturbance& disturbance : test::disturbances()) {
    for (const std::size_t cells : {2U, 6U}) {
      std::vector<double> speeds(cells, 100);
      speeds[1] = 160;
      for (const int blocks : {3, 4, 5, 10}) {
        int held = 0;
        for (int trial = 0; trial < trials; ++trial) {
          const auto runs = runs_of(speeds, blocks, disturbance, static_cast<std::uint64_t>(trial));
          held += holds(record::compare_runs(runs[0], runs[1]).interval, 1.6);
        }
        tell(cells == 2 ? "ratio, 2 cells" : "ratio, 6 cells", disturbance, blocks, held, trials);
        EXPECT_GE(held, 0.93 * trials) << disturbance.name << ", " << cells << " cells, " << blocks << " blocks";
      }
    }
  }
}

TEST(SweepCoverage, IntervalsOfSerialSharesHold) {
  const int trials = trials_or(500);
  constexpr double kSerial = 0.2;
  const std::array workers = {1, 2, 4, 8};
  std::vector<double> speeds;
  for (const int n : workers) speeds.push_back(100 / (kSerial + (1 - kSerial) / n));
  for (const Disturbance& disturbance : test::disturbances()) {
    for (const int blocks : {3, 5, 10}) {
      int held = 0, held_efficiency = 0;
      for (int trial = 0; trial < trials; ++trial) {
        const auto runs = runs_of(speeds, blocks, disturbance, static_cast<std::uint64_t>(trial));
        std::vector<record::WorkersRuns> seconds;
        for (std::size_t n = 0; n < workers.size(); ++n) {
          seconds.push_back({workers[n], runs[n]});
          for (BlockValue& run : seconds.back().seconds) run.value = 1 / run.value;
        }
        const record::Scaling scaling = record::scaling_of(std::move(seconds));
        held += holds(scaling.share_interval, kSerial);
        held_efficiency += holds(scaling.workers[3].efficiency->interval, speeds[3] / speeds[0] / 8);
      }
      tell("serial share", disturbance, blocks, held, trials);
      EXPECT_GE(held, 0.93 * trials) << disturbance.name << ", " << blocks << " blocks";
      EXPECT_GE(held_efficiency, 0.93 * trials) << disturbance.name << ", " << blocks << " blocks";
    }
  }
}

// Six cells through all of a sweep's claims. Of two, claims are false as often as the interval above doesn't hold.
TEST(SweepCoverage, WhatDoesNotDifferIsSeldomClaimedTo) {
  const int trials = trials_or(100);
  constexpr int kRepeats = 3;
  int of_all = 0;
  for (const Disturbance& disturbance : test::disturbances()) {
    test::SimulatedSweep simulated{.speeds = std::vector<double>(6, 100)};
    simulated.disturbance = &disturbance;
    int claims = 0;
    for (int trial = 0; trial < trials; ++trial) {
      claims += test::claims_anything(
          test::simulate(test::simulated_record(6, kRepeats), simulated, static_cast<std::uint64_t>(trial)));
    }
    tell("false claims, 6 cells", disturbance, kRepeats, claims, trials);
    // The long run has to keep to 5 % itself; a short one also has its chance, and all together none.
    EXPECT_LE(claims, (0.05 + (is_long() ? 0 : chance(0.05, trials))) * trials) << disturbance.name;
    of_all += claims;
  }
  EXPECT_LE(of_all, 0.05 * trials * static_cast<double>(test::disturbances().size()));
}

/// What is counted in a number of sweeps.
struct TextCount {
  int claiming = 0, contradicting = 0, beaten = 0;
  std::string example;  // of a contradiction
};

TextCount count_texts(const record::SweepRecord& record, const SimulatedSweep& simulated, int trials) {
  TextCount count;
  for (int trial = 0; trial < trials; ++trial) {
    const Sweep sweep = simulate(record, simulated, static_cast<std::uint64_t>(trial));
    const std::vector<std::string> found = test::contradictions(sweep);
    count.claiming += claims_anything(sweep);
    count.beaten += !simulated.joules.empty() &&
                    !std::ranges::all_of(front_of(sweep, "images_per_s", "energy_joules"), std::identity());
    count.contradicting += !found.empty();
    if (!found.empty()) count.example = found.front();
  }
  return count;
}

// Speed, energy and scaling together: what a reader of the whole text takes from it is false in 5 % of sweeps at most,
// and no sentence says otherwise than the table.
TEST(SweepCoverage, AllClaimsOfATextAreOneFamily) {
  struct Case {
    const char* what;
    std::vector<double> speeds, joules;
    int repeats;
    const test::OtherLoad* load;
    bool scales;
    double width;
  };
  const auto& loads = test::other_loads();
  const std::vector<double> two(2, 100), three(3, 100), six(6, 100);
  const std::vector<Case> cases = {
      {"equal, with energy", two, two, 3, nullptr, false, 0},
      {"equal, with energy", two, two, 5, nullptr, false, 0},
      {"equal, with energy", three, three, 4, nullptr, false, 0},
      {"equal, with energy", six, six, 5, nullptr, false, 0},
      {"equal, more threads each", three, three, 5, nullptr, true, 0},
      {"equal, more threads, --until", three, {}, 5, nullptr, true, 0.01},
      {"equal, load from run to run", three, {}, 5, &loads[2], false, 0},
      {"differ by 2 and 4 %", {100, 102, 104}, {100, 96, 98}, 5, nullptr, false, 0},
      {"differ by 4 %, the first is best", {104, 100}, {}, 5, nullptr, false, 0},
      {"differ, load from run to run", {100, 104}, {}, 5, &loads[2], false, 0},
      {"differ, load from run to run", {100, 104, 106, 103}, {}, 5, &loads[2], false, 0},
      {"scale down", {100, 97, 93}, {}, 5, nullptr, true, 0.01},
  };
  const int trials = trials_or(100);
  std::printf(
      "| cells | their number | blocks | sweeps with a claim | with a contradiction | with a cell beaten on the front "
      "|\n|---|---|---|---|---|---|\n");
  int of_equal = 0, equal = 0;
  for (const Case& one : cases) {
    SimulatedSweep simulated{.speeds = one.speeds, .load = one.load, .cpus = 8, .joules = one.joules};
    if (one.scales) simulated.threads = [](std::size_t cell) { return static_cast<int>(cell) + 1; };
    record::SweepRecord record = simulated_record(one.speeds.size(), one.repeats);
    if (one.width > 0) record.until_width = one.width;
    const TextCount count = count_texts(record, simulated, trials);
    std::printf("| %s | %zu | %d | %.1f %% | %.1f %% | %.1f %% |\n", one.what, one.speeds.size(), one.repeats,
                100.0 * count.claiming / trials, 100.0 * count.contradicting / trials, 100.0 * count.beaten / trials);
    EXPECT_EQ(count.contradicting, 0) << count.example;
    if (!std::string(one.what).starts_with("equal")) continue;
    EXPECT_LE(count.claiming, (0.05 + chance(0.05, trials)) * trials) << one.what << ", " << one.speeds.size();
    EXPECT_LE(count.beaten, (0.05 + chance(0.05, trials)) * trials) << one.what << ", " << one.speeds.size();
    of_equal += count.claiming;
    equal += trials;
  }
  EXPECT_LE(of_equal, 0.05 * equal);
}

// Sweeps made one after the other: nothing is claimed, however they are disturbed.
TEST(SweepCoverage, OfSweepsOneAfterTheOtherNothingIsClaimed) {
  for (const Disturbance& disturbance : test::disturbances()) {
    for (std::uint64_t trial = 0; trial < 5; ++trial) {
      const auto before = runs_of({100}, 10, disturbance, trial);
      auto after = runs_of({120}, 10, disturbance, trial + 1000);
      for (BlockValue& run : after[0]) run.block += 10;
      const record::RunComparison comparison = record::compare_runs(before[0], after[0]);
      EXPECT_FALSE(comparison.interval || comparison.p) << disturbance.name;
      EXPECT_TRUE(comparison.ratio.has_value());
    }
  }
}

/// A comparison that saw just what is true.
record::RunComparison seen(double ratio, double noise) {
  return {.ratio = ratio, .interval = {}, .p = {}, .deviation = noise * std::sqrt(2), .pairs = 5, .reason = {}};
}

// What the sentence promises: with so many runs of each, 4 of 5 sweeps name the best.
TEST(SweepCoverage, AboutSoManyRunsNameTheBestInFourOfFiveSweeps) {
  struct Case {
    std::vector<double> speeds;  // the fourth, or the second of two, is the best
    double second;
    double claims;        // of the family: all pairs
    std::size_t at_once;  // cells that are about as good as the second
  };
  const int trials = trials_or(100);
  for (const Case& one : {Case{{100, 102}, 100, 1, 1}, Case{{100, 100, 100, 102, 100, 100}, 100, 15, 5},
                          Case{{100, 97, 98, 102, 96, 99.5}, 100, 15, 2}}) {
    const std::size_t best = one.speeds.size() == 2 ? 1 : 3;
    const auto runs = record::runs_to_decide(seen(102 / one.second, 0.01), one.claims, one.at_once).value();
    int named = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const Sweep sweep = test::simulate(test::simulated_record(one.speeds.size(), static_cast<int>(runs)),
                                         {.speeds = one.speeds}, static_cast<std::uint64_t>(trial));
      named += sweep.jobs[0].winner == best;
    }
    if (is_long()) std::printf("%zu cells, %zu runs: %.1f %%\n", one.speeds.size(), runs, 100.0 * named / trials);
    EXPECT_GE(named, (0.8 - chance(0.8, trials)) * trials) << one.speeds.size() << " cells, " << runs << " runs";
  }
}

// The sentence takes its number from there: of three cells, each of which is told from the others.
TEST(SweepCoverage, TheNumberOfRunsIsCorrectedForAllClaims) {
  const auto simulated = [](std::uint64_t trial) {
    return test::simulate(test::simulated_record(3, 4), {.speeds = {100, 101, 102}}, trial);
  };
  std::uint64_t trial = 0;
  while (simulated(trial).jobs[0].leaders.size() < 3 || !simulated(trial).jobs[0].to_decide) ++trial;
  const Sweep sweep = simulated(trial);
  const JobClaim& job = sweep.jobs[0];
  ASSERT_FALSE(job.winner.has_value());
  const auto figure = [&](std::size_t cell) { return *sweep.cells[cell].figure("images_per_s"); };
  std::size_t most = 0;
  for (const std::size_t other : {job.leaders[1], job.leaders[2]}) {
    const auto comparison = compare_figures(figure(other), figure(job.leaders[0]), 0);
    // Three pairs; from two others at once.
    most = std::max(most, record::runs_to_decide(comparison, 3, 2).value());
  }
  EXPECT_EQ(job.to_decide, most);
  EXPECT_EQ(sweep.cells[2].claim.to_decide, record::runs_to_decide(compare_figures(figure(0), figure(2), 0), 3));
  const std::string said = sweep_conclusion(sweep)[0];
  EXPECT_NE(said.find("about " + std::to_string(most) + " runs of each would show it"), std::string::npos) << said;
}

}  // namespace

}  // namespace evener::sweeps
