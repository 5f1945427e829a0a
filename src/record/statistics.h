// Intervals of medians of timings, and the comparison of two sets of them. Nothing is drawn by chance: the same samples
// give the same interval.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evener::record {

/// Both ends included; in the unit of the samples.
struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

/// Of samples, in their unit.
struct Spread {
  double min = 0;
  double mean = 0;
  double max = 0;
};

/// Fewer samples than this give no interval of 95 % where neighbours may be alike: only their range can be told, and
/// nothing is called faster.
constexpr std::size_t kFewestSamples = 10;

/// 95 % interval of the median of samples in the order in which they were taken, between two of the samples (as a sign
/// test has it, so whatever their distribution). The more neighbouring samples are alike, the wider it is: noise that
/// drifts tells less than as many independent samples. tests/record/coverage_test.cpp shows what it covers. Absent
/// below kFewestSamples.
std::optional<Interval> median_interval(std::span<const double> samples);

/// From the smallest to the largest sample; absent for none.
std::optional<Interval> range(std::span<const double> samples);

enum class Verdict { kFaster, kSlower, kUndecided };

/// How much faster `candidate` is than `baseline`, both in work per second, both in the order in which they were taken.
struct Comparison {
  std::optional<double> ratio;            // median(candidate) / median(baseline)
  std::optional<Interval> interval;       // of 95 %, of that ratio
  Verdict verdict = Verdict::kUndecided;  // faster or slower only where the whole interval lies on one side of 1
  std::string reason;                     // why undecided; else empty
};
Comparison compare_rates(std::span<const double> baseline, std::span<const double> candidate);

/// Whether two shares (correct_a of count_a, correct_b of count_b) differ beyond chance: two-sided two-proportion
/// z-test at 5 %. False where a count is 0.
bool shares_differ(double share_a, std::int64_t count_a, double share_b, std::int64_t count_b);

/// A speed with what is known of its spread.
struct Throughput {
  std::optional<double> median;
  std::optional<Interval> interval;  // of 95 %; absent below kFewestSamples
  std::vector<double> samples;       // images/s, in the order in which they were taken
  std::string over;                  // what a sample is: "blocks of 12 steps after the first epoch"
  std::string reason;                // why `median` is absent; else empty
};
Throughput throughput_of(std::vector<double> rates, std::string over);

/// Images per second of up to 20 parts of a run, each of as many images, whose answers came at `times_s` since the
/// first one was asked for; of all together where they are few. Answers that are computed together come in bunches: a
/// part is at least four times as long as `at_once`.
std::vector<double> block_rates(std::span<const double> times_s, std::size_t at_once);

/// images/s of consecutive blocks of equally many steps.
struct BlockRates {
  std::vector<double> rates;
  std::int64_t steps = 1;  // of each block
};
/// images_per_s of a training run: over blocks of steps after the first epoch, which warms up, or, where too little
/// came after it, of the first epoch. `first_epoch` is without its first ten steps.
Throughput training_throughput(const BlockRates& first_epoch, const BlockRates& later_epochs);

}  // namespace evener::record
