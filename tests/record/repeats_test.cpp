#include "record/repeats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"

namespace evener::record {
namespace {

std::vector<BlockValue> blocks(const std::vector<double>& values, int first = 1) {
  std::vector<BlockValue> all;
  for (const double value : values) all.push_back({first++, value});
  return all;
}

TEST(Repeats, StudentsQuantilesAreThoseOfTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.7764, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.8125, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 1e6), 1.95996, 1e-4);
  EXPECT_NEAR(student_two_sided(2.7764, 4), 0.05, 1e-5);
  EXPECT_EQ(student_two_sided(INFINITY, 4), 0);
  EXPECT_EQ(student_two_sided(0, 4), 1);
}

TEST(Repeats, TheMeanIsGeometricAndItsRunsHaveARange) {
  const MeanOfRuns two = mean_of_runs(blocks({1, 4}));
  EXPECT_DOUBLE_EQ(*two.mean, 2);
  EXPECT_EQ(two.runs, 2U);
  EXPECT_EQ(*two.range, (Interval{1, 4}));
  EXPECT_EQ(*mean_of_runs(blocks({9, 2, 4})).range, (Interval{2, 9}));
  EXPECT_DOUBLE_EQ(*mean_of_runs(blocks({-1, 0, 4})).mean, 1);
  EXPECT_FALSE(mean_of_runs({}).mean.has_value());
}

TEST(Repeats, BlocksTakeTheDriftOutOfARatio) {
  // The machine becomes half as fast; the second way is 3 % faster throughout.
  const auto base = blocks({100, 80, 65, 50}), other = blocks({103.1, 82.3, 67, 51.4});
  const RunComparison paired = compare_runs(base, other);
  EXPECT_EQ(paired.pairs, 4U);
  EXPECT_GT(paired.interval->low, 1.02);
  EXPECT_LT(*paired.p, 0.001);
}

TEST(Repeats, TheIntervalIsStudentsOfTheLogarithmsOfRatios) {
  // Ratios of 2, 8 and 4: their mean is 4, log 2 their deviation; t of 2 degrees of freedom is 4.3027.
  const RunComparison comparison = compare_runs(blocks({1, 10, 3}), blocks({2, 80, 12}));
  EXPECT_NEAR(*comparison.ratio, 4, 1e-12);
  EXPECT_NEAR(*comparison.deviation, std::log(2), 1e-12);
  const double off = std::exp(4.302653 * std::log(2) / std::sqrt(3));
  EXPECT_NEAR(comparison.interval->low, 4 / off, 1e-5);
  EXPECT_NEAR(comparison.interval->high, 4 * off, 1e-4);
  EXPECT_NEAR(*comparison.p, student_two_sided(2 * std::sqrt(3), 2), 1e-9);
  // Of a first stage of three the spread is theirs, and the mean that of all four.
  const RunComparison staged = compare_runs(blocks({1, 10, 3, 1}), blocks({2, 80, 12, 64}), 3);
  EXPECT_NEAR(*staged.ratio, 8, 1e-12);
  EXPECT_NEAR(staged.interval->high, 8 * std::exp(4.302653 * std::log(2) / 2), 1e-4);
}

TEST(Repeats, RunsThatWereNotMadeSideBySideHaveARatioAlone) {
  const RunComparison apart = compare_runs(blocks({100, 101, 99}), blocks({200, 201, 202}, 11));
  EXPECT_NEAR(*apart.ratio, 2.01, 1e-3);
  EXPECT_EQ(apart.pairs, 0U);
  EXPECT_FALSE(apart.interval || apart.p || apart.deviation);
  EXPECT_EQ(apart.reason,
            "none of their runs were made side by side (at least 3), so that whatever else changed between them counts "
            "as a difference");
  const RunComparison two = compare_runs(blocks({100, 101, 99, 98}), blocks({200, 201, 202, 203}, 3));
  EXPECT_EQ(two.pairs, 2U);
  EXPECT_FALSE(two.p.has_value());
  EXPECT_EQ(two.reason.find("2 of their runs"), 0U) << two.reason;
}

TEST(Repeats, TooFewOrImpossibleFiguresHaveNoInterval) {
  const RunComparison few = compare_runs(blocks({100, 100}), blocks({200, 200}));
  EXPECT_NEAR(*few.ratio, 2, 1e-12);
  EXPECT_FALSE(few.p.has_value());
  EXPECT_FALSE(few.reason.empty());
  EXPECT_FALSE(compare_runs(blocks({}), blocks({1})).ratio.has_value());
  EXPECT_FALSE(compare_runs(blocks({0, 1, 2}), blocks({1, 2, 3})).ratio.has_value());
}

/// A comparison that saw such a ratio, whose logarithm deviates so much in one block.
RunComparison seen(double ratio, double deviation) {
  return {.ratio = ratio, .interval = {}, .p = {}, .deviation = deviation, .pairs = 5, .reason = {}};
}

TEST(Repeats, HowManyRunsWouldDecide) {
  // One deviation: tables say 10 pairs for a power of 80 % at 5 %.
  EXPECT_EQ(runs_to_decide(seen(std::exp(0.03), 0.03), 1), 10U);
  EXPECT_EQ(runs_to_decide(seen(std::exp(-0.03), 0.03), 1), 10U) << "slower by as much";
  // Five at once are missed together where one is missed in 1 of 25 cases: (1.96 + 1.75)^2 = 13.8, and some for t.
  EXPECT_GE(runs_to_decide(seen(std::exp(0.03), 0.03), 1, 5), 15U);
  EXPECT_LE(runs_to_decide(seen(std::exp(0.03), 0.03), 1, 5), 17U);
  EXPECT_EQ(runs_to_decide(seen(2, 0.01), 1), kFewestRuns);
  EXPECT_FALSE(runs_to_decide(seen(1, 0.01), 1).has_value());
  EXPECT_FALSE(runs_to_decide(seen(1.0001, 0.01), 1).has_value()) << "78,000";
  EXPECT_FALSE(runs_to_decide(compare_runs(blocks({1, 2}), blocks({2, 3})), 1).has_value());
}

// What the sentence promises: 4 of 5 such sweeps show it, whatever the number of claims that are corrected for.
TEST(Repeats, ThatManyRunsShowTheDifferenceInFourOfFiveCases) {
  constexpr int kTrials = 4000;
  for (const double claims : {1.0, 6.0, 12.0}) {
    for (const double deviations : {0.4, 1.0, 2.0}) {
      const std::size_t runs = runs_to_decide(seen(std::exp(0.02), 0.02 / deviations), claims).value();
      int shown = 0;
      for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
        Random random(5, Purpose::kSynthetic, trial);
        std::vector<double> base, other;
        for (std::size_t run = 0; run < runs; ++run) {
          base.push_back(100);
          other.push_back(100 * std::exp(0.02 * (1 + random.normal() / deviations)));
        }
        shown += *compare_runs(blocks(base), blocks(other)).p * claims < kClaimLevel;
      }
      EXPECT_GE(shown, 0.78 * kTrials) << claims << " claims, " << deviations << " deviations: " << runs << " runs";
      EXPECT_LE(shown, 0.92 * kTrials) << claims << " claims, " << deviations << " deviations: " << runs << " runs";
    }
  }
}

TEST(Repeats, ClaimsAreCorrectedForTheirNumber) {
  const std::vector<std::optional<double>> p = {0.01, std::nullopt, 0.04, 0.015, 0.018};
  const auto corrected = corrected_for_number(p);
  EXPECT_NEAR(*corrected[0], 4 * 0.01, 1e-12);
  EXPECT_FALSE(corrected[1].has_value());
  EXPECT_NEAR(*corrected[3], 3 * 0.015, 1e-12);
  EXPECT_NEAR(*corrected[4], 3 * 0.015, 1e-12) << "2 x 0.018 is less: no claim is less doubtful than one before it";
  EXPECT_NEAR(*corrected[2], 3 * 0.015, 1e-12);
  const auto unlikely = corrected_for_number(std::vector<std::optional<double>>{0.8, 0.7, 0.01});
  EXPECT_NEAR(*unlikely[2], 0.03, 1e-12);
  EXPECT_EQ(*unlikely[1], 1.0);
  EXPECT_EQ(*unlikely[0], 1.0);
}

TEST(Repeats, NoisyWorkIsRunMoreOften) {
  const auto steady = blocks({100, 100.1, 99.9, 100, 100}), noisy = blocks({100, 110, 90, 105, 95});
  EXPECT_EQ(runs_for_width(steady, 5, 0.02), 5U);
  // 1, 0, -1, 0.5 and -0.5 tenths of log: t of 4 degrees, times the deviation, by log(1.02), squared.
  const auto tenths = blocks({std::exp(0.1), 1, std::exp(-0.1), std::exp(0.05), std::exp(-0.05), 7});
  EXPECT_EQ(runs_for_width(tenths, 5, 0.02),
            static_cast<std::size_t>(std::ceil(std::pow(2.776445 * std::sqrt(0.025 / 4) / std::log(1.02), 2))));
  EXPECT_GT(runs_for_width(noisy, 5, 0.02), 50U);
  EXPECT_EQ(runs_for_width(blocks({0, 1, 2}), 3, 0.02), 3U) << "no logarithms";
}

TEST(Repeats, AtEqualDisturbanceWhatItDoesIsTakenOut) {
  const auto speeds_beside = [](double speed, const std::vector<double>& loads) {
    std::vector<double> speeds;
    for (const double load : loads) speeds.push_back(speed * std::exp(-load / 50));
    return blocks(speeds);
  };
  const std::vector<double> first = {0, 9, 0, 12, 3}, second = {8, 0, 5, 0, 0};
  const auto at_equal =
      compare_runs_at_equal(speeds_beside(100, first), speeds_beside(110, second), blocks(first), blocks(second), 3);
  ASSERT_TRUE(at_equal);
  EXPECT_NEAR(*at_equal->ratio, 1.1, 1e-9);
  EXPECT_NEAR(at_equal->interval->high - at_equal->interval->low, 0, 1e-9);
  EXPECT_EQ(at_equal->pairs, 5U);
  const auto without = [&](const std::vector<double>& of_first, const std::vector<double>& of_second, double least) {
    return !compare_runs_at_equal(speeds_beside(100, of_first), speeds_beside(110, of_second), blocks(of_first),
                                  blocks(of_second), least);
  };
  EXPECT_TRUE(without(first, second, 20)) << "the loads differ too little";
  EXPECT_TRUE(without({5, 5, 5, 5, 5}, {1, 1, 1, 1, 1}, 0)) << "always by the same";
  EXPECT_TRUE(without({0, 9, 0, 12}, {8, 0, 5, 0}, 3)) << "too few blocks";
}

TEST(Repeats, AtEqualDisturbanceIntervalsHold) {
  constexpr int kTrials = 2000;
  for (const int pairs : {5, 8}) {
    int held = 0;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
      Random random(6, Purpose::kSynthetic, trial);
      std::vector<double> base, other, of_base, of_other;
      for (int n = 0; n < pairs; ++n) {
        of_base.push_back(random.uniform() < 0.5 ? 10 + random.normal() : 0);
        of_other.push_back(random.uniform() < 0.5 ? 10 + random.normal() : 0);
        base.push_back(100 * std::exp(0.02 * random.normal() - of_base.back() / 60));
        other.push_back(105 * std::exp(0.02 * random.normal() - of_other.back() / 60));
      }
      const auto comparison =
          compare_runs_at_equal(blocks(base), blocks(other), blocks(of_base), blocks(of_other), 0.1);
      held += !comparison || (comparison->interval->low <= 1.05 && 1.05 <= comparison->interval->high) ? 1 : 0;
    }
    EXPECT_GE(held, 0.93 * kTrials) << pairs;
    EXPECT_LE(held, 0.97 * kTrials) << pairs;
  }
}

TEST(Repeats, AnExcessHasAOneSidedProbability) {
  // Differences of 1, 2 and 3: t = 2 sqrt(3) with 2 degrees of freedom.
  const auto smaller = blocks({5, 0, 10}), larger = blocks({6, 2, 13});
  EXPECT_NEAR(*p_of_excess(smaller, larger), student_two_sided(2 * std::sqrt(3.0), 2) / 2, 1e-12);
  EXPECT_NEAR(*p_of_excess(larger, smaller), 1 - *p_of_excess(smaller, larger), 1e-12);
  EXPECT_EQ(*p_of_excess(smaller, smaller), 0.5) << "values of 0 are allowed";
  EXPECT_EQ(*p_of_excess(blocks({1, 1, 1}), blocks({2, 2, 2})), 0);
  EXPECT_FALSE(p_of_excess(smaller, blocks({6, 2, 13}, 2)).has_value()) << "two common blocks";
}

// Amdahl's law, fitted to times that are known.

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

// Two workers of which a busy core slows one down, in some blocks by much: nothing can be said of a serial share.
TEST(Scaling, OfAShareThatMayBeNearlyAnyNothingIsSaid) {
  const auto scaling_with = [](const std::vector<double>& of_two) {
    WorkersRuns one{1, {}}, two{2, {}};
    for (int block = 0; block < 4; ++block) {
      one.seconds.push_back({block, 10});
      two.seconds.push_back({block, of_two[static_cast<std::size_t>(block)]});
    }
    return scaling_of({one, two});
  };
  const Scaling noise = scaling_with({6, 45, 12, 30}), steady = scaling_with({6, 6.1, 5.9, 6});
  EXPECT_TRUE(noise.workers[1].speedup) << "what was measured is told";
  EXPECT_FALSE(noise.workers[1].karp_flatt);
  EXPECT_FALSE(noise.fit);
  EXPECT_GT(noise.share_interval->high - noise.share_interval->low, 0.5);
  EXPECT_NEAR(steady.workers[1].karp_flatt->mean, 0.2, 0.01);
  EXPECT_NEAR(steady.fit->serial_share, 0.2, 0.01);
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
