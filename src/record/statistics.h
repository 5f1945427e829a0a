// Confidence intervals of medians of timings, and comparisons of two sets of timings. Deterministic, without
// resampling: the same samples give the same interval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evener::record {

/// Standard deviations from the mean to either end of a 95 % interval of the normal distribution.
inline constexpr double kNormal95 = 1.959964;

/// An interval with both ends, in the unit of the samples.
struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

/// Minimum, mean and maximum of samples, in their unit.
struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
};

/// Since neighbouring samples may be correlated, fewer samples than this give no 95 % interval but only a range, and
/// nothing is called faster.
constexpr std::size_t kFewestSamples = 10;

/// An accuracy on fewer images than this says little: on 29 images it is uncertain by 18 points (95 %).
constexpr std::size_t kFewJudged = 30;

/// The 95 % interval of the median of samples in the order in which they were taken. Its ends are two of the samples,
/// as in a sign test, so no distribution is assumed. It is widened by the correlation of neighbouring samples, because
/// drifting samples contain less information than independent ones. tests/record/statistics_test.cpp shows its
/// coverage. Absent below kFewestSamples.
std::optional<Interval> median_interval(std::span<const double> samples);

/// From the smallest to the largest sample; absent for none.
std::optional<Interval> range(std::span<const double> samples);

enum class Verdict { kFaster, kSlower, kUndecided };

/// A comparison of two speeds, in work per second, by samples in the order in which they were taken.
struct Comparison {
  std::optional<double> ratio;            // median(candidate) / median(baseline)
  std::optional<Interval> interval;       // 95 % interval of `ratio`
  Verdict verdict = Verdict::kUndecided;  // decided only if the interval excludes 1
  std::string reason;                     // why undecided; else empty
};
Comparison compare_rates(std::span<const double> baseline, std::span<const double> candidate);

/// Whether two shares, observed among count_a and count_b, differ significantly: a two-sided two-proportion z-test at 5
/// % for `claims` such tests together (Bonferroni). False if a count is 0.
bool shares_differ(double share_a, std::int64_t count_a, double share_b, std::int64_t count_b, std::size_t claims = 1);

/// Whether a share of images fell by a point or more, and by more than chance explains.
bool share_fell(double before, std::int64_t count_before, double after, std::int64_t count_after);

/// A speed with its samples and its uncertainty.
struct Throughput {
  std::optional<double> median;
  std::optional<Interval> interval;  // 95 % interval; absent below kFewestSamples
  std::vector<double> samples;       // images/s, in the order in which they were taken
  std::string over;                  // what a sample is: "blocks of 12 steps after the first epoch"
  std::string reason;                // why `median` is absent; else empty
};
Throughput throughput_of(std::vector<double> rates, std::string over);

/// Images per second in up to 20 parts of a run of equally many images; in one part if there are few images. `times_s`:
/// when each image's answer came, since the start. Answers of a batch come together, so a part has at least four times
/// `at_once` images.
std::vector<double> block_rates(std::span<const double> times_s, std::size_t at_once);

/// images/s in consecutive blocks of equally many steps.
struct BlockRates {
  std::vector<double> rates;
  std::int64_t steps = 1;  // of each block
};
/// The images_per_s of a training: over the blocks after the first epoch, which counts as warm-up or, if there are too
/// few, over the first epoch's blocks. `first_epoch` must leave out the first ten steps.
Throughput training_throughput(const BlockRates& first_epoch, const BlockRates& later_epochs);

/// The exact 95 % interval of a share that was observed as `share` among `count`. It covers at least 95 % whatever the
/// true share is (Clopper and Pearson, The use of confidence or fiducial limits, 1934). [0, 1] for a count of 0.
Interval share_interval(double share, std::int64_t count);

/// The same interval as text: "40 to 100 %".
std::string share_interval_text(double share, std::int64_t count);

/// The p-value of an exact binomial test: the probability that at least `correct` of `count` answers are right by
/// chance, if each is with probability `share`.
double chance_of_at_least(std::int64_t correct, std::int64_t count, double share);

}  // namespace evener::record
