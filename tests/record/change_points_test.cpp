#include "record/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/random.h"

namespace evener::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Values = std::vector<double>;

std::vector<std::size_t> places_of(const SeriesChanges& changes) {
  std::vector<std::size_t> places;
  for (const ChangePoint& point : changes.points) places.push_back(point.index);
  return places;
}

std::vector<std::size_t> places_in(const Values& values) {
  return places_of(find_changes(values));
}

/// The mean distance of two samples.
double apart(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (const double x : a) {
    for (const double y : b) sum += std::abs(x - y);
  }
  return sum / static_cast<double>(a.size() * b.size());
}

/// The mean distance of two different values of a sample.
double apart(std::span<const double> a) {
  const double n = static_cast<double>(a.size());
  return apart(a, a) * n / (n - 1);
}

/// Where the scaled energy distance is largest, by its definition.
std::size_t best_split(std::span<const double> values) {
  double most = 0;
  std::size_t best = 0;
  for (std::size_t end = 2 * kFewestOfLevel; end <= values.size(); ++end) {
    for (std::size_t at = kFewestOfLevel; at + kFewestOfLevel <= end; ++at) {
      const auto before = values.first(at), after = values.subspan(at, end - at);
      const double n = static_cast<double>(before.size()), m = static_cast<double>(after.size());
      const double energy = n * m / (n + m) * (2 * apart(before, after) - apart(before) - apart(after));
      if (energy > most) {
        most = energy;
        best = at;
      }
    }
  }
  return best;
}

TEST(ChangePoints, AreWhereTheEnergyDistanceIsLargest) {
  int compared = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    Random random(3, Purpose::kSynthetic, number);
    Values values;
    for (int n = 0; n < 24; ++n) values.push_back(random.normal() + (n < 13 ? 0 : 2));
    const auto places = places_in(values);
    if (places.size() != 1) continue;
    ++compared;
    EXPECT_EQ(places[0], best_split(values)) << number;
  }
  EXPECT_GE(compared, 10);
}

// The series by which Apache Otava (formerly Hunter) tests its change points, and where it finds them.
TEST(ChangePoints, AreWhereTheReferenceFindsThem) {
  const Values falls = {1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55};
  EXPECT_THAT(places_in(falls), ElementsAre(6));
  const Values falls_a_little = {2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78};
  EXPECT_THAT(places_in(falls_a_little), ElementsAre(4));
  EXPECT_THAT(places_in({1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96,
                         0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}),
              ElementsAre(10));
  EXPECT_THAT(places_in({1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5, 5, 5, 9, 9, 9, 9, 9, 9, 9, 9, 3, 3, 3, 3, 3, 3, 3, 3, 3}),
              ElementsAre(5, 13, 21));
  EXPECT_THAT(places_in({0, 0, 0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}), ElementsAre(3, 6));
  EXPECT_THAT(places_in({0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0}),
              ElementsAre(5, 8));
  EXPECT_THAT(places_in({1.00, 1.02, 1.05, 0.95, 0.98, 1.00, 1.02, 1.05, 0.95, 0.98}), IsEmpty());
  EXPECT_THAT(places_in({1.00, 1.02, 1.05, 0.95, 0.98, 0.80, 0.82, 0.85, 0.79, 0.77}), ElementsAre(5));
}

TEST(ChangePoints, AreNotInASeriesThatIsConstantOrShort) {
  EXPECT_THAT(places_in(Values(30, 4)), IsEmpty());
  EXPECT_THAT(places_in({1, 1, 1, 1, 9, 9, 9, 9, 9}), IsEmpty()) << "one value fewer than needed";
  EXPECT_THAT(places_in({1, 1, 1, 1, 1, 9, 9, 9, 9, 9}), ElementsAre(5));
  EXPECT_THAT(places_in({}), IsEmpty());
}

TEST(ChangePoints, OneThatIsTakenBackIsTwo) {
  Values values(40, 10);
  for (std::size_t n = 18; n < 23; ++n) values[n] = 11;
  EXPECT_THAT(places_in(values), ElementsAre(18, 23));
}

TEST(ChangePoints, HaveAProbabilityThatIsNeverZero) {
  Values values(20, 10);
  for (std::size_t n = 10; n < 20; ++n) values[n] = 11;
  const SeriesChanges changes = find_changes(values);
  ASSERT_THAT(places_of(changes), ElementsAre(10));
  EXPECT_DOUBLE_EQ(changes.points[0].p, 1.0 / (kPermutations + 1));
}

TEST(Drift, HasTheProbabilityOfMannAndKendall) {
  const SeriesChanges changes = find_changes(Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ASSERT_TRUE(changes.drift);
  EXPECT_DOUBLE_EQ(changes.drift->per_value, 1);
  // S = 45 with a variance of 125.
  EXPECT_NEAR(changes.drift->p, std::erfc(44 / std::sqrt(125.0) / std::sqrt(2.0)), 1e-12);
}

TEST(Correction, CountsTheTestsOfAllSeries) {
  std::vector<SeriesChanges> all(3);
  all[0].points = {{.index = 5, .p = 0.01}, {.index = 9, .p = 0.02}};
  all[0].other_tests = {0.5};
  all[1].drift = Drift{.per_value = 1, .interval = {}, .p = 0.001};
  all[2].drift = Drift{.per_value = 1, .interval = {}, .p = 0.03};
  EXPECT_EQ(correct_together(all), 5U);
  ASSERT_THAT(places_of(all[0]), ElementsAre(5)) << "3 * 0.02 is above 5 %";
  EXPECT_DOUBLE_EQ(all[0].points[0].p, 4 * 0.01);
  EXPECT_DOUBLE_EQ(all[1].drift->p, 5 * 0.001);
  EXPECT_FALSE(all[2].drift) << "2 * 0.03";
}

TEST(Shift, IsTheMedianDifferenceWithAnIntervalOfRankSums) {
  const Shift shift = shift_of(Values{1, 2, 3, 4, 5}, Values{11, 12, 13, 14, 15});
  EXPECT_DOUBLE_EQ(shift.by, 10);
  // Of 5 and 5 values a rank sum up to 2 has a probability of 4 / 252, up to 3 of 7 / 252: the third of the
  // differences.
  ASSERT_TRUE(shift.interval);
  EXPECT_DOUBLE_EQ(shift.interval->low, 7);
  EXPECT_DOUBLE_EQ(shift.interval->high, 13);
  // Of 4 and 9 values the critical rank sum is 4.
  EXPECT_DOUBLE_EQ(shift_of(Values{0, 100, 200, 300}, Values{1, 2, 3, 4, 5, 6, 7, 8, 9}).interval->low, 5 - 300);
  EXPECT_DOUBLE_EQ(shift_of(Values{1, 2, 3, 4, 5, 6, 7, 8, 9}, Values{0, 100, 200, 300}).interval->low, 0 - 5);
  EXPECT_FALSE(shift_of(Values{1, 2, 3}, Values{4, 5, 6}).interval) << "1 / 20 is more than 2.5 %";
  EXPECT_TRUE(shift_of(Values{1, 2, 3, 4}, Values{4, 5, 6, 7}).interval);
  EXPECT_DOUBLE_EQ(shift_of(Values(200, 1), Values(200, 3)).interval->low, 2) << "by the normal distribution";
}

constexpr std::size_t kRuns = 60;
constexpr double kNoise = 0.01;
constexpr std::size_t kFewPermutations = 199;  // show a step as well, in a fifth of the time

/// A made-up history of 60 runs, as logarithms of a figure.
struct Course {
  double step = 0;  // lower by this share from `at` on
  std::size_t at = 0;
  double drift = 0;     // lower by this from the first run to the last
  double outliers = 0;  // share of runs that are off by ten deviations, most of them below
  bool is_skewed = false;
};

Values course(const Course& made, std::uint64_t number) {
  Random random(5, Purpose::kSynthetic, number);
  Values values;
  for (std::size_t n = 0; n < kRuns; ++n) {
    double noise = made.is_skewed ? 1 + std::log(1 - random.uniform()) : random.normal();
    if (random.uniform() < made.outliers) noise += random.uniform() < 0.8 ? -10 : 10;
    const double level = n >= made.at ? std::log1p(-made.step) : 0;
    values.push_back(level - made.drift * static_cast<double>(n) / (kRuns - 1) + kNoise * noise);
  }
  return values;
}

/// The changes of one series alone, after the correction for its own tests.
SeriesChanges told_of(const Values& values, std::size_t permutations = kPermutations) {
  SeriesChanges changes = find_changes(values, permutations);
  correct_together(std::span(&changes, 1));
  return changes;
}

class ChangePointsSimulation : public testing::TestWithParam<Course> {};

TEST_P(ChangePointsSimulation, AtMostFiveOfAHundredAlarmsAreFalse) {
  int alarms = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const SeriesChanges changes = told_of(course(GetParam(), number));
    alarms += !changes.points.empty() || changes.drift;
  }
  EXPECT_LE(alarms, 10) << "of 200 series";
}

INSTANTIATE_TEST_SUITE_P(Noises, ChangePointsSimulation,
                         testing::Values(Course{}, Course{.outliers = 0.05}, Course{.is_skewed = true}));

TEST(ChangePointsOfSteps, AreFoundWithinTwoRunsAndTheirIntervalsHold) {
  int found = 0, intervals = 0, covered = 0, series = 0;
  for (const double step : {0.03, 0.05, 0.10}) {
    for (std::uint64_t number = 0; number < 67; ++number, ++series) {
      const std::size_t at = 10 + Random(6, Purpose::kSynthetic, number).below(41);
      const Values values = course({.step = step, .at = at, .outliers = number % 2 == 0 ? 0 : 0.05}, 1000 + number);
      const SeriesChanges changes = told_of(values, kFewPermutations);
      for (const ChangePoint& point : changes.points) {
        const bool is_near = std::abs(static_cast<int>(point.index) - static_cast<int>(at)) <= 2;
        found += is_near;
        if (!is_near || changes.points.size() > 1) continue;
        const std::span<const double> all = values;
        const Shift shift = shift_of(all.first(point.index), all.subspan(point.index));
        ASSERT_TRUE(shift.interval);
        ++intervals;
        covered += shift.interval->low <= std::log1p(-step) && std::log1p(-step) <= shift.interval->high;
      }
    }
  }
  EXPECT_GE(found, 190) << "of " << series;
  EXPECT_GE(covered, 0.93 * intervals);
}

// A drift is told as one, and not as the staircase that levels alone would make of it.
TEST(ChangePointsOfDrifts, AreFewAndTheDriftIsTold) {
  int drifts = 0, stairs = 0;
  for (std::uint64_t number = 0; number < 50; ++number) {
    const SeriesChanges changes = told_of(course({.drift = 0.1}, 2000 + number), kFewPermutations);
    stairs += !changes.points.empty();
    if (!changes.drift) continue;
    ++drifts;
    EXPECT_NEAR(changes.drift->per_value * (kRuns - 1), -0.1, 0.03);
  }
  EXPECT_GE(drifts, 48);
  EXPECT_LE(stairs, 5);
}

TEST(ChangePointsOfDrifts, AStepBesideADriftIsStillFound) {
  int found = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    const SeriesChanges changes =
        told_of(course({.step = 0.05, .at = 30, .drift = 0.02}, 3000 + number), kFewPermutations);
    for (const ChangePoint& point : changes.points) found += point.index >= 28 && point.index <= 32;
  }
  EXPECT_EQ(found, 20);
}

TEST(ChangePointsOfDrifts, ADriftThatAStepHidesIsStillTold) {
  int found = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    const SeriesChanges changes =
        told_of(course({.step = 0.1, .at = 30, .drift = -0.1}, 4000 + number), kFewPermutations);
    found += changes.drift && changes.drift->per_value > 0;
  }
  EXPECT_GE(found, 15);
}

}  // namespace
}  // namespace evener::record
