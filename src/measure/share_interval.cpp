#include "measure/share_interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace evener::measure {

Interval share_interval(double share, std::int64_t count) {
  if (count <= 0) return {0, 1};
  constexpr double kNormal = 1.959964;  // of the normal distribution, 95 % lie within so many deviations
  const double z2 = kNormal * kNormal, n = static_cast<double>(count);
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

std::string share_interval_text(double share, std::int64_t count) {
  const Interval interval = share_interval(share, count);
  // Of many images an end may lie so near 0 or 100 % that a whole number would say that nothing is uncertain.
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

}  // namespace evener::measure
