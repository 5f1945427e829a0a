#include "record/change_points.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/random.h"
#include "base/statistics.h"
#include "record/repeats.h"

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

// Ten values have 252 orders of two fives, so that no permutation test can show a step among six tests of 5 %.
TEST(ChangePoints, StudentDecidesWhereOrdersAreTooFew) {
  const Values before = {1.00, 1.10, 0.95, 1.05, 0.90}, after = {0.50, 0.53, 0.46, 0.50, 0.49};
  Values values = before;
  values.insert(values.end(), after.begin(), after.end());
  const SeriesChanges changes = find_changes(values);
  ASSERT_THAT(places_of(changes), ElementsAre(5));
  // The noisier side has the variance 0.025 / 4. The split was chosen among the 1 + 2 + 3 + 4 + 5 of 6 to 10 values.
  const double t = (1 - 0.496) / std::sqrt(0.00625 * 2 / 5);
  EXPECT_NEAR(changes.points[0].p / (15 * student_two_sided(t, 8)), 1, 1e-9);
  EXPECT_DOUBLE_EQ(find_changes(Values{1.001, 1.002, 1, 1.003, 1.001, 9, 9.001, 9.003, 9, 9.002}).points[0].p, 1e-6);
  // Of two values alone nobody knows how often they take turns.
  EXPECT_GT(find_changes(Values{1, 1, 1, 1, 1, 9, 9, 9, 9, 9}).points[0].p, 0.004);
}

TEST(ChangePoints, PermutationsGrowWithTheSeries) {
  EXPECT_EQ(permutations_for(1), 999U);
  EXPECT_EQ(permutations_for(90), 7200U);
  EXPECT_EQ(permutations_for(1000), 19999U);
}

TEST(TwoLevels, AreToldWhereValuesGoToAndFro) {
  const auto levels = two_levels_of(Values{100, 80, 80.5, 101, 79.5, 99, 80, 100, 79, 100.5, 81});
  ASSERT_TRUE(levels);
  EXPECT_DOUBLE_EQ(levels->low, 80);
  EXPECT_DOUBLE_EQ(levels->high, 100);
  EXPECT_EQ(levels->at_low, 6U);
  EXPECT_EQ(levels->switches, 9U);
  EXPECT_FALSE(two_levels_of(Values{100, 101, 99, 100, 101, 80, 81, 79, 80, 80.5, 79.5})) << "a step";
  EXPECT_FALSE(two_levels_of(Values{100, 99, 60, 101, 100, 61, 98, 99, 100, 101, 99})) << "two outliers";
  EXPECT_FALSE(two_levels_of(Values{90, 80, 85, 100, 79, 95, 92, 100, 79, 88, 81})) << "one level with noise";
  EXPECT_TRUE(two_levels_of(Values{100, 80, 100, 80, 80, 80, 100, 100, 100, 100})) << "four switches";
  EXPECT_FALSE(two_levels_of(Values{100, 80, 80, 100, 100, 100, 100, 80, 80, 80})) << "three are steps";
  EXPECT_FALSE(two_levels_of(Values{100, 80, 100, 80, 100, 80, 100, 80, 100})) << "nine values";
  EXPECT_FALSE(two_levels_of(Values{100, 80, 111, 80, 106, 80, 100, 80, 108, 80})) << "the upper one is none";
  EXPECT_FALSE(two_levels_of(Values{111, 80, 111, 91, 111, 86, 111, 80, 111, 80})) << "nor the lower one";
}

TEST(Drift, HasTheProbabilityOfMannAndKendall) {
  const SeriesChanges changes = find_changes(Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ASSERT_TRUE(changes.drift);
  EXPECT_DOUBLE_EQ(changes.drift->per_value, 1);
  // S = 45 with a variance of 125.
  EXPECT_NEAR(changes.drift->p, std::erfc(44 / std::sqrt(125.0) / std::sqrt(2.0)), 1e-12);
}

TEST(Drift, HasTheSlopeOfTheilAndSenWithItsInterval) {
  const Values values = {0.3, 1.1, 1.7, 3.4, 3.9, 5.2, 5.8, 7.3, 7.9, 9.1};
  const SeriesChanges changes = find_changes(values);
  ASSERT_TRUE(changes.drift && changes.drift->interval);
  EXPECT_THAT(changes.points, IsEmpty());
  Values slopes;
  for (std::size_t j = 0; j < values.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  std::ranges::sort(slopes);
  EXPECT_DOUBLE_EQ(changes.drift->per_value, slopes[22]);
  // Of 45 pairs the 11th and the 35th: (45 - 1.96 * sqrt(125)) / 2 is 11.5.
  EXPECT_DOUBLE_EQ(changes.drift->interval->low, slopes[10]);
  EXPECT_DOUBLE_EQ(changes.drift->interval->high, slopes[34]);
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

TEST(Noise, IsOfWhatIsLeftOfLevelsAndDrifts) {
  Values values;
  for (int n = 0; n < 10; ++n) values.push_back(3 * n + (n < 5 ? 0 : 40) + (n % 2 == 0 ? 0.5 : -0.5));
  const SeriesChanges found{
      .points = {{.index = 5}}, .drift = Drift{.per_value = 3, .interval = {}, .p = 0}, .other_tests = {}};
  EXPECT_NEAR(noise_of(values, found).deviation, std::sqrt(0.3), 1e-9);
  EXPECT_GT(noise_of(values, {}).deviation, 10);
  EXPECT_EQ(noise_of(Values(10, 4), {}).deviation, 0);
  EXPECT_EQ(noise_of(Values(10, 4), {}).resolution, 0);
  EXPECT_EQ(noise_of(Values{1, 2}, {}).deviation, 0) << "too few to know";
  EXPECT_DOUBLE_EQ(noise_of(Values{5, 1, 1 + 1e-12, 9, 2.5, 6}, {}).resolution, 1) << "rounding is no step";
}

// By the formula, for 20 values in which permutations show a step, and for ten, of which Student's t does.
TEST(Noise, HidesStepsThatAreNotFarAboveIt) {
  const Noise noise{.deviation = 0.01, .resolution = 1e-5};
  const double of_20 = student_quantile(1 - 0.05 / 6 / 15 / 2, 18), of_10 = student_quantile(1 - 0.05 / 6 / 15 / 2, 8);
  EXPECT_DOUBLE_EQ(*least_step_shown(noise, 20, 6), (of_20 + 2) * 0.01 * std::sqrt(2.0 / 10));
  EXPECT_DOUBLE_EQ(*least_step_shown(noise, 10, 6), (of_10 + 2) * 0.01 * std::sqrt(2.0 / 5));
  EXPECT_DOUBLE_EQ(*least_step_shown({.deviation = 0.01, .resolution = 0.06}, 10, 6),
                   (of_10 + 2) * 0.03 * std::sqrt(2.0 / 5))
      << "values that seldom differ";
  EXPECT_DOUBLE_EQ(*least_step_shown({.deviation = 0.01, .resolution = 0.06}, 20, 6), *least_step_shown(noise, 20, 6));
  const double of_21 = student_quantile(1 - 0.05 / 16 / 2, 19);
  EXPECT_DOUBLE_EQ(*least_step_shown(noise, 21, 0), (of_21 + 2) * 0.01 * std::sqrt(1.0 / 10 + 1.0 / 11));
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

/// How many rounds a simulation has: few to see that it holds, or as many as EVENER_SIMULATIONS says.
std::uint64_t rounds(std::uint64_t few) {
  const char* given = std::getenv("EVENER_SIMULATIONS");
  return given == nullptr ? few : std::max<std::uint64_t>(few, std::strtoull(given, nullptr, 10));
}

using Noisy = double (*)(Random& random, std::size_t run, std::size_t odd, double before);

double normal_noise(Random& random, std::size_t, std::size_t, double) {
  return random.normal();
}
double t3_noise(Random& random, std::size_t, std::size_t, double) {
  double squares = 0;
  for (int n = 0; n < 3; ++n) squares += std::pow(random.normal(), 2);
  return random.normal() / std::sqrt(squares / 3);
}
double outlier_noise(Random& random, std::size_t run, std::size_t odd, double) {
  return random.normal() - (run == odd ? 10 : 0);
}
double skewed_noise(Random& random, std::size_t, std::size_t, double) {
  return 1 + std::log(1 - random.uniform());
}
double rounded_noise(Random& random, std::size_t, std::size_t, double) {
  return std::round(random.normal() * 2) / 2;
}
double tied_noise(Random& random, std::size_t, std::size_t, double) {
  return random.normal() > 0.8 ? 1 : 0;
}
double lasting_noise(Random& random, std::size_t, std::size_t, double before) {
  return 0.5 * before + std::sqrt(0.75) * random.normal();
}

/// The figures of one command, all of the same noise. Step: of the first `changed` figures from `at` on.
struct Family {
  const char* noise_name;
  Noisy noise;
  std::size_t runs, figures;
  double deviation = 0.01, step = 0;
  std::size_t at = 0, changed = 0;
  double shared = 0;  // of the noise's variance: that of its block, which all figures have in common
};

/// The share of rounds in which something is told of the first max(1, changed) figures (with a step: near it), or of
/// any (without).
double share_told(const Family& family, std::uint64_t count) {
  std::uint64_t told = 0;
  for (std::uint64_t number = 0; number < count; ++number) {
    Values of_blocks;
    Random blocks(21, Purpose::kSynthetic, number);
    for (std::size_t run = 0; run < family.runs; ++run) of_blocks.push_back(blocks.normal());
    std::vector<SeriesChanges> found;
    for (std::size_t figure = 0; figure < family.figures; ++figure) {
      Random random(20, Purpose::kSynthetic, number, figure);
      const std::size_t odd = random.below(family.runs);
      Values values;
      double noise = 0;
      for (std::size_t run = 0; run < family.runs; ++run) {
        noise = family.noise(random, run, odd, noise);
        const double level = figure < family.changed && run >= family.at ? std::log1p(-family.step) : 0;
        values.push_back(level + family.deviation * (std::sqrt(1 - family.shared) * noise +
                                                     std::sqrt(family.shared) * of_blocks[run]));
      }
      found.push_back(find_changes(values, permutations_for(family.figures)));
    }
    correct_together(found);
    if (family.changed == 0) {
      told += std::ranges::any_of(found, [](const auto& one) { return !one.points.empty() || one.drift; });
    } else {
      told += std::ranges::all_of(std::span(found).first(family.changed), [&](const SeriesChanges& one) {
        return std::ranges::any_of(one.points, [&](const ChangePoint& point) {
          return point.index + 2 >= family.at && point.index <= family.at + 2;
        });
      });
    }
  }
  return static_cast<double>(told) / static_cast<double>(count);
}

/// What Binomial(count, share) exceeds in one of a thousand cases, as a share.
double most_by_chance(double share, std::uint64_t count) {
  return share + 3.1 * std::sqrt(share * (1 - share) / static_cast<double>(count)) + 0.5 / static_cast<double>(count);
}

TEST(ChangePointsRates, FalseAlarmsOfWholeFamilies) {
  const std::uint64_t count = rounds(60);
  fmt::print("false alarms: any figure of a command without a change, {} commands each\n", count);
  const auto alarms = [&](Family family) {
    std::string row = fmt::format("{:<34}", family.noise_name);
    std::vector<double> shares;
    for (const auto& [runs, figures] : {std::pair<std::size_t, std::size_t>{10, 3}, {10, 15}, {14, 15}, {20, 6}}) {
      family.runs = runs, family.figures = figures;
      shares.push_back(share_told(family, count));
      row += fmt::format("  {} runs x {:>2}: {:5.1f} %", runs, figures, 100 * shares.back());
    }
    fmt::print("{}\n", row);
    return *std::ranges::max_element(shares);
  };
  const double most = most_by_chance(kClaimLevel, count);
  EXPECT_LE(alarms({"normal", normal_noise, 0, 0}), most);
  EXPECT_LE(alarms({"t with 3 degrees of freedom", t3_noise, 0, 0}), most);
  EXPECT_LE(alarms({"one outlier of 10 deviations", outlier_noise, 0, 0}), most);
  EXPECT_LE(alarms({"skewed (exponential)", skewed_noise, 0, 0}), most);
  EXPECT_LE(alarms({"rounded to half a deviation", rounded_noise, 0, 0}), most);
  EXPECT_LE(alarms({"ties: two values", tied_noise, 0, 0}), most);
  EXPECT_LE(alarms({"blocks shared by all figures", normal_noise, 0, 0, 0.01, 0, 0, 0, 0.7}), most);
  // It is no change of the program, but of the machine, so nothing is promised: the row says how often.
  alarms({"lasting (correlation 0.5): no promise", lasting_noise, 0, 0});
}

TEST(ChangePointsRates, StepsThatAreFound) {
  const std::uint64_t count = rounds(20);
  fmt::print("found within two runs of its place, {} commands each\n", count);
  const auto found = [&](const Family& family) {
    const double share = share_told(family, count);
    fmt::print("{:<30} noise {:.0f} %, {} runs x {:>2} figures, {} of them {:.0f} % lower from run {}: {:5.1f} %\n",
               family.noise_name, 100 * family.deviation, family.runs, family.figures, family.changed,
               100 * family.step, family.at + 1, 100 * share);
    return share;
  };
  for (const std::size_t at : {4, 5, 7}) EXPECT_GE(found({"normal", normal_noise, 10, 3, 0.02, 0.5, at, 1}), 0.95);
  EXPECT_GE(found({"normal", normal_noise, 10, 15, 0.05, 0.5, 6, 5}), 0.9) << "in all five";
  EXPECT_GE(found({"normal", normal_noise, 14, 15, 0.02, 0.5, 8, 5}), 0.95);
  EXPECT_GE(found({"normal", normal_noise, 14, 15, 0.02, 0.5, 11, 5}), 0.95);
  for (const std::size_t runs : {16, 18, 20}) {
    EXPECT_GE(found({"normal", normal_noise, runs, 3, 0.01, 0.1, runs - 5, 1}), 0.95);
    EXPECT_GE(found({"normal", normal_noise, runs, 3, 0.02, 0.1, runs / 2, 1}), 0.95);
  }
  EXPECT_GE(found({"t with 3 degrees of freedom", t3_noise, 20, 3, 0.01, 0.1, 12, 1}), 0.9);
  EXPECT_GE(found({"one outlier of 10 deviations", outlier_noise, 20, 3, 0.01, 0.1, 12, 1}), 0.6);
}

// The least step that is said to be found is found mostly, and a third of it hardly ever.
TEST(ChangePointsRates, TheLeastStepShown) {
  const std::uint64_t count = rounds(25);
  fmt::print("the least step that is said to be found, and a third of it, {} commands each\n", count);
  for (const auto& [runs, figures] : {std::pair<std::size_t, std::size_t>{10, 3}, {14, 9}, {20, 3}, {40, 1}}) {
    const double step = *least_step_shown({.deviation = 0.01, .resolution = 1e-5}, runs, 2 * figures);
    const auto share = [&](double of) {
      return share_told({"normal", normal_noise, runs, figures, 0.01, -std::expm1(-step * of), runs / 2, 1}, count);
    };
    const double whole = share(1), third = share(1.0 / 3);
    fmt::print("{} runs x {} figures, noise 1 %: {:.1f} %: found {:.0f} %; a third: {:.0f} %\n", runs, figures,
               100 * step, 100 * whole, 100 * third);
    EXPECT_GE(whole, 0.7);
    EXPECT_LE(third, 0.3);
  }
  // Values that never differ show any step, where orders are enough.
  EXPECT_EQ(least_step_shown({}, 20, 6), 0);
  EXPECT_FALSE(least_step_shown({}, 10, 30));
  EXPECT_FALSE(least_step_shown({.deviation = 0.01, .resolution = 1e-5}, 9, 2));
  const Noise noise =
      noise_of(Values{1, 3, 1, 3, 1, 11, 13, 11, 13, 11}, {.points = {{.index = 5}}, .drift = {}, .other_tests = {}});
  EXPECT_DOUBLE_EQ(noise.deviation, std::sqrt(1.2)) << "within levels";
  EXPECT_DOUBLE_EQ(noise.resolution, 2);
}

}  // namespace
}  // namespace evener::record
