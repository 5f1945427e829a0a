#include "record/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/statistics.h"

namespace evener::record {
namespace {

/// The correlation of neighbouring samples: the autocorrelation of their ranks at lag one, corrected for the negative
/// bias of short series. Within [0, 0.99].
double likeness_of_neighbours(std::span<const double> samples) {
  const std::size_t count = samples.size();
  const double n = static_cast<double>(count);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return samples[i]; });
  std::vector<double> ranks(count);  // minus the mean rank; equal samples share a rank
  for (std::size_t first = 0, end = 0; first < count; first = end) {
    while (end < count && samples[order[end]] == samples[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) {
      ranks[order[i]] = (static_cast<double>(first) + static_cast<double>(end - 1) - (n - 1)) / 2;
    }
  }
  double square = 0, product = 0;
  for (std::size_t i = 0; i < count; ++i) {
    square += ranks[i] * ranks[i];
    if (i > 0) product += ranks[i] * ranks[i - 1];
  }
  if (square == 0) return 0;  // all are equal
  const double found = product / square;
  // The bias is -(1 + 4 r) / n (Kendall). Adds most of the standard error too, because an r that is too small is the
  // greater risk.
  const double corrected = found + (1 + 4 * std::max(found, 0.0)) / n + 0.6 / std::sqrt(n);
  return std::clamp(corrected, 0.0, 0.99);
}

/// The interval's ends as places from both ends of the sorted samples (1 = the outermost). The number of independent
/// samples below the median is binomial; correlation makes the interval wider.
std::size_t place_of_end(std::size_t count, double likeness) {
  const double n = static_cast<double>(count);
  const double spread = std::sqrt(n * (1 + likeness) / (1 - likeness)) / 2;  // of the number below the median
  const double wide = n / 2 + 0.5 - kNormal95 * spread;
  std::size_t exact = 0;  // the place by the sign test
  double below = 0, probability = std::pow(0.5, n);
  for (std::size_t k = 0; k < count; ++k) {
    below += probability;
    if (2 * below > 0.05) break;
    exact = k + 1;
    probability *= (n - static_cast<double>(k)) / static_cast<double>(k + 1);
  }
  if (exact == 0) exact = static_cast<std::size_t>(std::max(1.0, wide));  // for thousands of samples 0.5^n is 0
  return wide < 1 ? 1 : std::min(static_cast<std::size_t>(wide), exact);
}

/// The quantile of a beta distribution: the share with the probability `below` below it.
double beta_quantile(double below, double a, double b) {
  double low = 0, high = 1;
  for (int halving = 0; halving < 50; ++halving) {
    const double middle = (low + high) / 2;
    (incomplete_beta(middle, a, b) < below ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

std::optional<Interval> median_interval(std::span<const double> samples) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  const std::size_t place = place_of_end(samples.size(), likeness_of_neighbours(samples));
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return Interval{sorted[place - 1], sorted[sorted.size() - place]};
}

std::optional<Interval> range(std::span<const double> samples) {
  if (samples.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(samples);
  return Interval{low, high};
}

Comparison compare_rates(std::span<const double> baseline, std::span<const double> candidate) {
  Comparison comparison;
  const std::optional<double> base_median = median(baseline);
  const std::optional<double> median_of_candidate = median(candidate);
  if (!base_median || !median_of_candidate || *base_median <= 0) {
    comparison.reason = "one of the two has no samples";
    return comparison;
  }
  const double ratio = *median_of_candidate / *base_median;
  comparison.ratio = ratio;
  const auto base = median_interval(baseline), other = median_interval(candidate);
  if (!base || !other || base->low <= 0 || other->low <= 0) {
    comparison.reason = fmt::format("{} and {} samples are too few (at least {} each)", baseline.size(),
                                    candidate.size(), kFewestSamples);
    return comparison;
  }
  // Combines the two intervals: distances of the ends from the medians add up in squares, in logarithms (Zou and
  // Donner, Construction of confidence limits about effect measures, 2008).
  const double down = std::hypot(std::log(*median_of_candidate / other->low), std::log(base->high / *base_median));
  const double up = std::hypot(std::log(other->high / *median_of_candidate), std::log(*base_median / base->low));
  comparison.interval = Interval{ratio * std::exp(-down), ratio * std::exp(up)};
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

bool shares_differ(double share_a, std::int64_t count_a, double share_b, std::int64_t count_b, std::size_t claims) {
  if (count_a <= 0 || count_b <= 0) return false;
  const double n_a = static_cast<double>(count_a);
  const double n_b = static_cast<double>(count_b);
  const double pooled = (share_a * n_a + share_b * n_b) / (n_a + n_b);
  const double variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b);
  if (variance <= 0) return share_a != share_b;
  const double p = std::erfc(std::abs(share_a - share_b) / std::sqrt(2 * variance));
  return p * static_cast<double>(claims) < 0.05;
}

bool share_fell(double before, std::int64_t count_before, double after, std::int64_t count_after) {
  constexpr double kPoint = 0.01;
  return before - after >= kPoint && shares_differ(before, count_before, after, count_after);
}

Throughput throughput_of(std::vector<double> rates, std::string over) {
  Throughput throughput;
  throughput.median = median(rates);
  throughput.interval = median_interval(rates);
  throughput.samples = std::move(rates);
  throughput.over = std::move(over);
  return throughput;
}

std::vector<double> block_rates(std::span<const double> times_s, std::size_t at_once) {
  constexpr std::size_t kBlocks = 20, kBunches = 4;
  std::size_t each = std::max(kBunches * at_once, (times_s.size() + kBlocks - 1) / kBlocks);
  if (times_s.size() < 2 * each) each = std::max<std::size_t>(times_s.size(), 1);
  std::vector<double> rates;
  double begin_s = 0;
  for (std::size_t end = each; end <= times_s.size(); end += each) {
    const double seconds = times_s[end - 1] - begin_s;
    if (seconds > 0) rates.push_back(static_cast<double>(each) / seconds);
    begin_s = times_s[end - 1];
  }
  return rates;
}

Throughput training_throughput(const BlockRates& first_epoch, const BlockRates& later_epochs) {
  const std::size_t first = first_epoch.rates.size(), later = later_epochs.rates.size();
  if (first + later == 0) {
    Throughput throughput;
    throughput.reason = "the first epoch and the first 10 steps are warm-up and don't count; train longer";
    return throughput;
  }
  const bool takes_later = later >= std::min(first, kFewestSamples);
  const BlockRates& taken = takes_later ? later_epochs : first_epoch;
  const char* after = takes_later ? "the first epoch" : "the tenth step";
  return throughput_of(taken.rates, taken.steps == 1 ? fmt::format("steps after {}", after)
                                                     : fmt::format("blocks of {} steps after {}", taken.steps, after));
}

Interval share_interval(double share, std::int64_t count) {
  if (count <= 0) return {0, 1};
  constexpr double kTail = 0.025;
  const double n = static_cast<double>(count), seen = share * n;
  return {seen <= 0 ? 0 : beta_quantile(kTail, seen, n - seen + 1),
          seen >= n ? 1 : beta_quantile(1 - kTail, seen + 1, n - seen)};
}

std::string share_interval_text(double share, std::int64_t count) {
  const Interval interval = share_interval(share, count);
  // With many images an end may be so close to 0 or 100 % that a whole number would hide the uncertainty.
  const auto text = [](double end) {
    const double percent = 100 * end;
    const bool is_near_end = (percent >= 0.05 && percent < 1) || (percent > 99 && percent <= 99.95);
    return fmt::format("{:.{}f}", percent, is_near_end ? 1 : 0);
  };
  return fmt::format("{} to {} %", text(interval.low), text(interval.high));
}

double chance_of_at_least(std::int64_t correct, std::int64_t count, double share) {
  if (correct <= 0) return 1;
  if (correct > count) return 0;
  return incomplete_beta(share, static_cast<double>(correct), static_cast<double>(count - correct + 1));
}

}  // namespace evener::record
