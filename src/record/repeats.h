// Statistics of repeated runs. For the runs of one configuration only mean and range are given: disturbances of a
// machine last longer than a run, so a few runs don't show how far off their mean is. Two configurations are compared
// by ratios, with Student's t on logarithms, because noise multiplies times. tests/record/statistics_test.cpp shows the
// coverage of the intervals.
//
// Runs are grouped in blocks: the runs of a block were made close in time, so a slow drift of the machine hardly
// affects their ratio. Without common blocks nothing is claimed. A stopping rule that makes more runs of noisy work
// lets the data decide the number of runs, which could bias an interval. If the rule looks only at the spread of the
// first `first_stage` runs, an interval with the spread of these and the mean of all runs still covers 95 % (Stein, A
// two-sample test for a linear hypothesis whose power is independent of the variance, 1945).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

/// With fewer runs there is only a range, and no comparison.
constexpr std::size_t kFewestRuns = 3;

/// The figure of one run, and the run's block.
struct BlockValue {
  int block = 0;
  double value = 0;
};

struct MeanOfRuns {
  std::size_t runs = 0;
  std::optional<double> mean;     // geometric if all values are above 0, else arithmetic; absent without runs
  std::optional<Interval> range;  // from the smallest to the largest
};
MeanOfRuns mean_of_runs(std::span<const BlockValue> values);

/// The number of runs for which the 95 % interval of the mean would be +-`width` (0.02 = 2 %) if runs were independent,
/// from the spread of the first `first_stage` runs. There must be that many values. Returns at least first_stage.
std::size_t runs_for_width(std::span<const BlockValue> values, std::size_t first_stage, double width);

/// A comparison of two configurations by a figure.
struct RunComparison {
  std::optional<double> ratio;       // mean of candidate / mean of baseline, over the compared runs
  std::optional<Interval> interval;  // 95 % interval of the ratio
  std::optional<double> p;           // p-value of the difference; absent without an interval
  std::optional<double> deviation;   // standard deviation of a block's log ratio
  std::size_t pairs = 0;             // number of common blocks
  std::string reason;                // why `interval` is absent; else empty
  bool at_equal = false;             // by compare_runs_at_equal()
};
/// Compares by the ratios within common blocks; with fewer than kFewestRuns of these, gives only the ratio of the means
/// of all runs. A ratio above 1 isn't necessarily better: that depends on the figure. `first_stage`: 0 = the number of
/// runs was fixed in advance.
RunComparison compare_runs(std::span<const BlockValue> baseline, std::span<const BlockValue> candidate,
                           std::size_t first_stage = 0);

/// The same comparison at equal disturbance of both, where the disturbance of each run is known in a number, such as
/// the load by other programs: the log ratios of the blocks are regressed on the differences of the disturbances, and
/// the comparison is that where the difference is 0 (analysis of covariance). Absent with fewer than five common
/// blocks, or where the differences have a standard deviation below `least`. That this is decided by the disturbances
/// alone, not by the figures, leaves the coverage of the interval as it is.
std::optional<RunComparison> compare_runs_at_equal(std::span<const BlockValue> baseline,
                                                   std::span<const BlockValue> candidate,
                                                   std::span<const BlockValue> baseline_disturbance,
                                                   std::span<const BlockValue> candidate_disturbance, double least);

/// The one-sided p-value of the claim that `larger` exceeds `smaller` within the blocks, by Student's t of their
/// differences; absent with fewer than kFewestRuns common blocks.
std::optional<double> p_of_excess(std::span<const BlockValue> smaller, std::span<const BlockValue> larger);

/// The number of runs of each configuration with which the observed difference would become significant with a power of
/// 80 %. `claims`: number of claims that are corrected for; `at_once`: number of such differences that all have to be
/// shown. Absent if there is no difference, or if the number is impractically large.
std::optional<std::size_t> runs_to_decide(const RunComparison& seen, double claims, std::size_t at_once = 1);

/// The p-values of several claims, corrected by Holm's method so that with 95 % no claim is false (Holm, A simple
/// sequentially rejective multiple test procedure, 1979): a claim holds if its corrected value is below 0.05. Absent
/// values are no claims and stay absent.
std::vector<std::optional<double>> corrected_for_number(std::span<const std::optional<double>> p);
constexpr double kClaimLevel = 0.05;

// Scaling with the number of workers: Amdahl's law fitted to measurements, and related figures.

/// The time that `workers` workers take for the same work.
struct ScalingPoint {
  int workers = 1;
  double seconds = 0;
};

/// T(n) = T(1) (s + (1 - s) / n): the share s of the work is serial, the rest is divided by n workers (Amdahl, Validity
/// of the single processor approach to achieving large scale computing capabilities, 1967).
struct AmdahlFit {
  double one_worker_s = 0;
  double serial_share = 0;  // from 0 to 1

  /// T(1) / T(n).
  double speedup(int workers) const;
};

/// Fits by least squares of relative errors. Absent for fewer than two different numbers of workers.
std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points);

/// The Karp-Flatt metric: the serial share that would explain `speedup` with `workers` workers, at least 2 (Karp and
/// Flatt, Measuring parallel processor performance, 1990). If it grows with their number, working together costs time.
double karp_flatt(double speedup, int workers);

/// Gustafson's scaled speedup: how many times as much work `workers` workers do in the same time, if the parallel part
/// grows with their number and `serial_share` of the time is serial (Gustafson, Reevaluating Amdahl's law, 1988).
double gustafson(double serial_share, int workers);

/// The times of repeated runs with `workers` workers, in blocks (record/repeats.h).
struct WorkersRuns {
  int workers = 1;
  std::vector<BlockValue> seconds;
};

/// A mean over blocks with its 95 % interval, which is absent for fewer than three blocks.
struct BlockMean {
  double mean = 0;
  std::optional<Interval> interval;
};

struct WorkersScaling {
  int workers = 1;
  std::optional<BlockMean> speedup, efficiency;  // against the fewest workers; absent for those
  std::optional<BlockMean> karp_flatt;           // absent without runs of one worker, and as Scaling::fit
};

struct Scaling {
  std::vector<WorkersScaling> workers;     // in ascending order
  std::optional<AmdahlFit> fit;            // over all runs; absent where the share's interval is wider than 0.5
  std::optional<Interval> share_interval;  // 95 % interval of the serial share, from a fit for each block
};

/// Computes all figures, speedups by compare_runs(); each number of workers occurs once in `runs`.
Scaling scaling_of(std::vector<WorkersRuns> runs, std::size_t first_stage = 0);

}  // namespace evener::record
