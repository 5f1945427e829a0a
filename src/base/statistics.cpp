#include "base/statistics.h"

#include <algorithm>
#include <vector>

namespace evener {

double sorted_quantile(std::span<const double> sorted, double q) {
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::optional<double> quantile(std::span<const double> samples, double q) {
  if (samples.empty()) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted_quantile(sorted, q);
}

std::optional<double> median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

}  // namespace evener
