// What runs of the same work, repeated, say of it and of other work: intervals and comparisons by Student's t, of
// logarithms, because noise multiplies times. tests/measure/repeats_test.cpp shows what they cover.
//
// Runs stand in blocks: those of one block were made side by side, so that what drifts meanwhile leaves their ratio
// alone. A rule that makes more runs of noisy work lets the data decide how many there are; where it looks at the
// spread of the first `first_stage` runs alone, an interval that takes the spread from these and the mean from all of
// them still covers 95 % (Stein, A two-sample test for a linear hypothesis whose power is independent of the variance,
// 1945).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace evener::measure {

/// Fewer runs give a range, and no winner.
constexpr std::size_t kFewestRuns = 3;

/// A figure of one run.
struct BlockValue {
  int block = 0;
  double value = 0;
};

struct MeanOfRuns {
  std::size_t runs = 0;
  std::optional<double> mean;        // geometric where all values are above 0, else arithmetic; absent for none
  std::optional<Interval> interval;  // of 95 %, of the mean; absent below kFewestRuns
  std::optional<Interval> range;     // from the smallest to the largest
};
/// `first_stage`: 0 = the number of runs was fixed beforehand.
MeanOfRuns mean_of_runs(std::span<const BlockValue> values, std::size_t first_stage = 0);

/// How many runs it takes until the interval of the mean is +-`width` (0.02 = 2 %) or narrower, by the spread of the
/// first `first_stage` runs, of which there are as many or more. At least first_stage.
std::size_t runs_for_width(std::span<const BlockValue> values, std::size_t first_stage, double width);

/// How `candidate` stands to `baseline` by a figure.
struct RunComparison {
  std::optional<double> ratio;           // candidate / baseline, of their means over the runs that were compared
  std::optional<Interval> interval;      // of 95 %
  std::optional<double> p;               // how likely chance alone makes such a difference; absent below kFewestRuns
  std::size_t pairs = 0;                 // blocks that both have; 0: compared as independent runs
  std::optional<std::size_t> to_decide;  // runs of each that would show this difference in 4 of 5 cases
  std::string reason;                    // why there is no interval; else empty
};
/// By ratios within the blocks that both have, where these are kFewestRuns or more; otherwise as independent runs, of
/// which each has that many (Welch). The larger ratio need not be the better one.
RunComparison compare_runs(std::span<const BlockValue> baseline, std::span<const BlockValue> candidate,
                           std::size_t first_stage = 0);

/// The p-values of several claims as they are when it has to be unlikely (5 %) that even one claim is false (Holm, A
/// simple sequentially rejective multiple test procedure, 1979): a claim holds where its value is below 0.05. Absent
/// ones are no claims and stay absent.
std::vector<std::optional<double>> corrected_for_number(std::span<const std::optional<double>> p);
constexpr double kClaimLevel = 0.05;

}  // namespace evener::measure
