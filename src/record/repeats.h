// What runs of the same work, repeated, say of it and of other work. Of the runs of one way only their mean and range
// are told: what disturbs a machine lasts longer than a run, so that a few of them don't show how far their mean is
// off. Two ways are compared by ratios, by Student's t of logarithms, because noise multiplies times.
// tests/record/coverage_test.cpp shows what their intervals cover.
//
// Runs stand in blocks: those of one block were made side by side, so that what drifts meanwhile leaves their ratio
// alone. Of runs that were not made so nothing is claimed. A rule that makes more runs of noisy work lets the data
// decide how many there are; where it looks at the spread of the first `first_stage` runs alone, an interval that takes
// the spread from these and the mean from all of them still covers 95 % (Stein, A two-sample test for a linear
// hypothesis whose power is independent of the variance, 1945).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

/// Fewer runs give a range, and no winner.
constexpr std::size_t kFewestRuns = 3;

/// A figure of one run.
struct BlockValue {
  int block = 0;
  double value = 0;
};

struct MeanOfRuns {
  std::size_t runs = 0;
  std::optional<double> mean;     // geometric where all values are above 0, else arithmetic; absent for none
  std::optional<Interval> range;  // from the smallest to the largest
};
MeanOfRuns mean_of_runs(std::span<const BlockValue> values);

/// How many runs it takes until the mean would be known to +-`width` (0.02 = 2 %) with 95 % if runs were independent,
/// by the spread of the first `first_stage` runs, of which there are as many or more. At least first_stage.
std::size_t runs_for_width(std::span<const BlockValue> values, std::size_t first_stage, double width);

/// How `candidate` stands to `baseline` by a figure.
struct RunComparison {
  std::optional<double> ratio;       // candidate / baseline, of their means over the runs that were compared
  std::optional<Interval> interval;  // of 95 %
  std::optional<double> p;           // how likely chance alone makes such a difference; absent without an interval
  std::optional<double> deviation;   // of the logarithm of the ratio in one block
  std::size_t pairs = 0;             // blocks that both have
  std::string reason;                // why there is no interval; else empty
};
/// By the ratios within the blocks that both have; without kFewestRuns of these only the ratio of all runs' means is
/// told. The larger ratio need not be the better one. `first_stage`: 0 = the number of runs was fixed beforehand.
RunComparison compare_runs(std::span<const BlockValue> baseline, std::span<const BlockValue> candidate,
                           std::size_t first_stage = 0);

/// How many runs of each would show the difference that was seen, in 4 of 5 cases or more, where it is one of `claims`
/// that are corrected for their number, and `at_once` such differences have to be shown together. Absent where there is
/// none to show, or nobody would repeat the runs as often.
std::optional<std::size_t> runs_to_decide(const RunComparison& seen, double claims, std::size_t at_once = 1);

/// The p-values of several claims as they are when it has to be unlikely (5 %) that even one claim is false (Holm, A
/// simple sequentially rejective multiple test procedure, 1979): a claim holds where its value is below 0.05. Absent
/// ones are no claims and stay absent.
std::vector<std::optional<double>> corrected_for_number(std::span<const std::optional<double>> p);
constexpr double kClaimLevel = 0.05;

}  // namespace evener::record
