#include "measure/repeats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/statistics.h"

namespace evener::measure {
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

TEST(Repeats, TheMeanIsGeometricAndFewRunsHaveARange) {
  const MeanOfRuns two = mean_of_runs(blocks({1, 4}));
  EXPECT_DOUBLE_EQ(*two.mean, 2);
  EXPECT_FALSE(two.interval.has_value());
  EXPECT_EQ(*two.range, (Interval{1, 4}));
  const MeanOfRuns three = mean_of_runs(blocks({1, 2, 4}));
  EXPECT_DOUBLE_EQ(*three.mean, 2);
  // log 2 is the deviation; t of 2 degrees of freedom is 4.3027.
  EXPECT_NEAR(three.interval->high, 2 * std::exp(4.302653 * std::log(2) / std::sqrt(3)), 1e-5);
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
  const RunComparison apart = compare_runs(base, blocks({103.1, 82.3, 67, 51.4}, 11));
  EXPECT_EQ(apart.pairs, 0U);
  EXPECT_LT(apart.interval->low, 1);
  EXPECT_GT(*apart.p, 0.5);
}

TEST(Repeats, WelchsTestIsThatOfTextbooks) {
  // exp() of numbers whose differences are easy: means 1 and 3, variances 1 and 4, 3 and 3 runs.
  const auto base = blocks({std::exp(0), std::exp(1), std::exp(2)});
  const auto other = blocks({std::exp(1), std::exp(3), std::exp(5)}, 11);
  const RunComparison comparison = compare_runs(base, other);
  EXPECT_NEAR(*comparison.ratio, std::exp(2), 1e-9);
  const double degrees = 25.0 / 9 / (1.0 / 18 + 16.0 / 18), error = std::sqrt(5.0 / 3);
  EXPECT_NEAR(*comparison.p, student_two_sided(2 / error, degrees), 1e-9);
}

TEST(Repeats, TooFewOrImpossibleFiguresHaveNoInterval) {
  const RunComparison few = compare_runs(blocks({100, 100}), blocks({200, 200}));
  EXPECT_NEAR(*few.ratio, 2, 1e-12);
  EXPECT_FALSE(few.p.has_value());
  EXPECT_FALSE(few.reason.empty());
  EXPECT_FALSE(compare_runs(blocks({}), blocks({1})).ratio.has_value());
  EXPECT_FALSE(compare_runs(blocks({0, 1, 2}), blocks({1, 2, 3})).ratio.has_value());
}

TEST(Repeats, HowManyRunsWouldDecide) {
  const RunComparison close = compare_runs(blocks({100, 101, 99, 100}), blocks({101, 100, 100.5, 101.4}));
  ASSERT_TRUE(close.to_decide.has_value());
  EXPECT_GT(*close.to_decide, 4U);
  const RunComparison clear = compare_runs(blocks({100, 101, 99, 100}), blocks({200, 203, 198, 199}));
  EXPECT_EQ(clear.to_decide, kFewestRuns);
  const RunComparison none = compare_runs(blocks({100, 101, 99}), blocks({101, 100, 99}));
  EXPECT_FALSE(none.to_decide.has_value()) << *none.to_decide;
}

TEST(Repeats, ClaimsAreCorrectedForTheirNumber) {
  const std::vector<std::optional<double>> p = {0.01, std::nullopt, 0.04, 0.02};
  const auto corrected = corrected_for_number(p);
  EXPECT_NEAR(*corrected[0], 0.03, 1e-12);
  EXPECT_FALSE(corrected[1].has_value());
  EXPECT_NEAR(*corrected[3], 0.04, 1e-12);
  EXPECT_NEAR(*corrected[2], 0.04, 1e-12);  // no less doubtful than the one before it
  EXPECT_EQ(*corrected_for_number(std::vector<std::optional<double>>{0.7, 0.8})[0], 1.0);
}

TEST(Repeats, NoisyWorkIsRunMoreOften) {
  const auto steady = blocks({100, 100.1, 99.9, 100, 100}), noisy = blocks({100, 110, 90, 105, 95});
  EXPECT_EQ(runs_for_width(steady, 5, 0.02), 5U);
  EXPECT_GT(runs_for_width(noisy, 5, 0.02), 50U);
}

}  // namespace
}  // namespace evener::measure
