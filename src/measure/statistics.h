// Medians, quantiles and bootstrap intervals of timings, and the comparison of two sets of them.
// Everything is deterministic: the bootstrap draws keyed random numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evener::measure {

/// Both ends included; in the unit of the samples.
struct Interval {
  double low = 0;
  double high = 0;

  bool operator==(const Interval&) const = default;
};

/// Fewer samples than this say nothing about their spread: no interval, no verdict.
constexpr std::size_t kFewestSamples = 3;

/// 95 % percentile bootstrap interval of the median, 2000 resamples. Absent below kFewestSamples.
std::optional<Interval> median_interval(std::span<const double> samples, std::uint64_t seed = 1);

enum class Verdict { kFaster, kSlower, kUndecided };

/// How much faster `candidate` is than `baseline`, both in work per second.
struct Comparison {
  std::optional<double> ratio;            // median(candidate) / median(baseline)
  std::optional<Interval> interval;       // 95 % bootstrap interval of that ratio
  Verdict verdict = Verdict::kUndecided;  // faster or slower only where the whole interval lies on one side of 1
  std::string reason;                     // why undecided; else empty
};
Comparison compare_rates(std::span<const double> baseline, std::span<const double> candidate, std::uint64_t seed = 1);

/// Whether two shares (correct_a of count_a, correct_b of count_b) differ beyond chance: two-sided two-proportion
/// z-test at 5 %. False where a count is 0.
bool shares_differ(double share_a, std::int64_t count_a, double share_b, std::int64_t count_b);

/// images_per_s of a training run, by the rule of design.md: over the epochs after the first, or, where there is but
/// one epoch, over the steps after the tenth.
struct Throughput {
  std::optional<double> median;
  std::optional<Interval> interval;
  std::vector<double> samples;  // images/s of each epoch or step that counts
  std::string over;             // "epochs after the first", "steps after the tenth"
  std::string reason;           // why `median` is absent; else empty
};
/// `epoch_rates`: images/s of each epoch of this process, in order. `step_rates`: of each step of the first epoch.
Throughput training_throughput(std::span<const double> epoch_rates, std::span<const double> step_rates,
                               std::uint64_t seed = 1);

}  // namespace evener::measure
