// Finds where the level of a series of figures changed, by E-divisive means: hierarchical divisive estimation with the
// energy distance and permutation tests (Matteson and James, A nonparametric approach for multiple change point
// analysis of multivariate data, JASA 2014). A permutation test assumes no distribution, so outliers and skewed noise
// cause no more false alarms than the level allows. Few values have too few permutations to show anything among many
// tests; there Student's t decides of what permutations can't tell apart any more. Both assume that values without a
// change may be exchanged, which a drift violates. So a drift is looked for too, and told as one instead of as a
// staircase of steps. Deterministic: the same values give the same answer. What it misses and what it tells wrongly is
// simulated by tests/record/change_points_test.cpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

/// A level has at least this many values; a series in which a change could be shown has kFewestSamples.
constexpr std::size_t kFewestOfLevel = 3;
/// Permutations of a test among few.
constexpr std::size_t kPermutations = 999;

/// As many as a p-value needs to become as small as the correction for two tests of each of so many series asks for.
std::size_t permutations_for(std::size_t series);

/// A change of the level, between values[index - 1] and values[index].
struct ChangePoint {
  std::size_t index = 0;
  double p = 1;  // p-value; at least that of the change points that were found before this one
};

/// A steady change of the level, beside its steps.
struct Drift {
  double per_value = 0;              // from one value to the next
  std::optional<Interval> interval;  // 95 % interval of per_value
  double p = 1;
};

struct SeriesChanges {
  std::vector<ChangePoint> points;  // by index; all have p < kClaimLevel, before any correction
  std::optional<Drift> drift;       // likewise
  std::vector<double> other_tests;  // p-values of the tests that showed nothing, which corrections have to count
};

/// Finds the changes of a series in the order of its dates. Values whose noise is relative should be logarithms.
/// Nothing is found in fewer than kFewestSamples values. Takes time by the square of the number of values for each
/// permutation.
///
/// A step or a drift? The series is split as it is. If the values between its change points rise or fall together
/// (Mann and Kendall's test over all segments: Hirsch and Slack, A nonparametric trend test for seasonal data, 1984),
/// it is split again without that slope, and of both descriptions the one with the lower BIC for Laplace noise is
/// taken.
SeriesChanges find_changes(std::span<const double> values, std::size_t permutations = kPermutations);

/// Corrects the p-values of all series for the number of tests that were made (Holm), drops what isn't significant
/// then, and returns that number.
std::size_t correct_together(std::span<SeriesChanges> all);

/// What hides steps.
struct Noise {
  double deviation = 0;   // standard deviation between change points
  double resolution = 0;  // the least distance of two different values; 0: all are equal
};
Noise noise_of(std::span<const double> values, const SeriesChanges& found);

/// The least step in the middle of `count` values that mostly would be found among so many tests; absent where none
/// would be, however large.
std::optional<double> least_step_shown(const Noise& noise, std::size_t count, std::size_t tests);

/// Two levels, far apart for their noise, between which values go to and fro.
struct TwoLevels {
  double low = 0, high = 0;
  std::size_t at_low = 0;  // values
  std::size_t switches = 0;
};
/// Absent for a single level, and for steps.
std::optional<TwoLevels> two_levels_of(std::span<const double> values);

/// How much higher `after` is than `before`: the median of all differences (Hodges and Lehmann, 1963), and its 95 %
/// interval by the rank-sum test of Mann and Whitney, for independent values.
struct Shift {
  double by = 0;
  std::optional<Interval> interval;  // absent for too few values, as 3 and 3
};
/// Both must have values.
Shift shift_of(std::span<const double> before, std::span<const double> after);

}  // namespace evener::record
