#include "record/share_interval.h"

#include <fmt/format.h>

#include "base/statistics.h"

namespace evener::record {

namespace {

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
