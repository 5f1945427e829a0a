#include "measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"

namespace evener::measure {
namespace {

constexpr int kResamples = 2000;
constexpr std::size_t kWarmUpSteps = 10;

/// Medians of resamples; the n-th resample is keyed by (seed, stream, n).
std::vector<double> resampled_medians(std::span<const double> samples, std::uint64_t seed, std::uint64_t stream) {
  std::vector<double> medians(kResamples);
  std::vector<double> resample(samples.size());
  for (std::size_t n = 0; n < medians.size(); ++n) {
    Random random(seed, Purpose::kBootstrap, stream, n);
    for (double& value : resample) value = samples[random.below(samples.size())];
    std::sort(resample.begin(), resample.end());
    medians[n] = sorted_quantile(resample, 0.5);
  }
  return medians;
}

Interval middle_95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {sorted_quantile(values, 0.025), sorted_quantile(values, 0.975)};
}

}  // namespace

std::optional<Interval> median_interval(std::span<const double> samples, std::uint64_t seed) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  return middle_95(resampled_medians(samples, seed, 0));
}

Comparison compare_rates(std::span<const double> baseline, std::span<const double> candidate, std::uint64_t seed) {
  Comparison comparison;
  const std::optional<double> base_median = median(baseline);
  const std::optional<double> median_of_candidate = median(candidate);
  if (!base_median || !median_of_candidate || *base_median <= 0) {
    comparison.reason = "one of the two has no samples";
    return comparison;
  }
  comparison.ratio = *median_of_candidate / *base_median;
  if (baseline.size() < kFewestSamples || candidate.size() < kFewestSamples) {
    comparison.reason = fmt::format("{} and {} samples are too few (at least {} each)", baseline.size(),
                                    candidate.size(), kFewestSamples);
    return comparison;
  }
  const std::vector<double> base_medians = resampled_medians(baseline, seed, 1);
  std::vector<double> ratios = resampled_medians(candidate, seed, 2);
  for (std::size_t n = 0; n < ratios.size(); ++n) ratios[n] /= base_medians[n];
  comparison.interval = middle_95(std::move(ratios));
  if (comparison.interval->low > 1) {
    comparison.verdict = Verdict::kFaster;
  } else if (comparison.interval->high < 1) {
    comparison.verdict = Verdict::kSlower;
  } else {
    comparison.reason = fmt::format("the 95 % interval of the ratio, {:.3g} to {:.3g}, contains 1",
                                    comparison.interval->low, comparison.interval->high);
  }
  return comparison;
}

bool shares_differ(double share_a, std::int64_t count_a, double share_b, std::int64_t count_b) {
  if (count_a <= 0 || count_b <= 0) return false;
  const double n_a = static_cast<double>(count_a);
  const double n_b = static_cast<double>(count_b);
  const double pooled = (share_a * n_a + share_b * n_b) / (n_a + n_b);
  const double variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b);
  if (variance <= 0) return share_a != share_b;
  return std::abs(share_a - share_b) / std::sqrt(variance) > 1.959964;
}

Throughput training_throughput(std::span<const double> epoch_rates, std::span<const double> step_rates,
                               std::uint64_t seed) {
  Throughput throughput;
  if (epoch_rates.size() > 1) {
    throughput.samples.assign(epoch_rates.begin() + 1, epoch_rates.end());
    throughput.over = "epochs after the first";
  } else if (step_rates.size() > kWarmUpSteps) {
    throughput.samples.assign(step_rates.begin() + kWarmUpSteps, step_rates.end());
    throughput.over = "steps after the tenth";
  } else {
    throughput.reason = fmt::format(
        "{} epoch(s) and {} steps: the first epoch and the first {} steps are warm-up and don't count; train longer",
        epoch_rates.size(), step_rates.size(), kWarmUpSteps);
    return throughput;
  }
  throughput.median = median(throughput.samples);
  throughput.interval = median_interval(throughput.samples, seed);
  return throughput;
}

}  // namespace evener::measure
