#include "bench/early_stopping.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace evener::bench {
namespace {

constexpr double kConfidence = 0.99;

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It takes some
/// sqrt(max(a, b)) terms where x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 1'000'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return fraction;
}

/// Whether so many queries vouch for the percentile with 99 % confidence.
bool enough(std::int64_t in_time, std::int64_t late, double percentile) {
  return in_time > 0 &&
         incomplete_beta(percentile, static_cast<double>(in_time), static_cast<double>(late + 1)) <= 1 - kConfidence;
}

}  // namespace

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(x, a, b) / a;
  return 1 - std::exp(log_front) * beta_fraction(1 - x, b, a) / b;
}

std::int64_t fewest_in_time(std::int64_t late, double percentile) {
  std::int64_t most = 1;
  while (!enough(most, late, percentile)) most *= 2;
  std::int64_t too_few = most / 2;
  while (most - too_few > 1) {
    const std::int64_t middle = too_few + (most - too_few) / 2;
    (enough(middle, late, percentile) ? most : too_few) = middle;
  }
  return most;
}

std::int64_t smallest_total(double percentile) {
  return fewest_in_time(1, percentile) + 1;
}

std::optional<std::int64_t> allowed_late(std::int64_t queries, double percentile) {
  if (!enough(queries, 0, percentile)) return std::nullopt;
  std::int64_t allowed = 0, too_many = queries;
  while (too_many - allowed > 1) {
    const std::int64_t middle = allowed + (too_many - allowed) / 2;
    (enough(queries - middle, middle, percentile) ? allowed : too_many) = middle;
  }
  return allowed;
}

std::optional<PercentileEstimate> early_stopping_estimate(std::span<const double> sorted_latencies_s,
                                                          double percentile) {
  const auto queries = static_cast<std::int64_t>(sorted_latencies_s.size());
  const std::int64_t late = allowed_late(queries, percentile).value_or(0);
  if (late < 1) return std::nullopt;
  return PercentileEstimate{sorted_latencies_s[static_cast<std::size_t>(queries - late)], late - 1};
}

double plain_percentile(std::span<const double> sorted_latencies_s, double percentile) {
  const auto place = static_cast<std::size_t>(static_cast<double>(sorted_latencies_s.size()) * percentile);
  return sorted_latencies_s[std::min(place, sorted_latencies_s.size() - 1)];
}

}  // namespace evener::bench
