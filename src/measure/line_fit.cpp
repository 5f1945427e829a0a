#include "measure/line_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace evener::measure {
namespace {

using Points = std::span<const double>;

/// Sum of products of the deviations from the means.
double products(Points x, Points y) {
  const double x_mean = mean_of(x), y_mean = mean_of(y);
  double sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n) sum += (x[n] - x_mean) * (y[n] - y_mean);
  return sum;
}

std::vector<double> deviations(Points x, Points y, const Line& line) {
  std::vector<double> all(x.size());
  for (std::size_t n = 0; n < x.size(); ++n) all[n] = y[n] - line.slope * x[n] - line.offset;
  return all;
}

double squares(Points values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

Line with_slope(Points x, Points y, double slope) {
  Line line{.slope = slope, .offset = mean_of(y) - slope * mean_of(x)};
  line.squares = squares(deviations(x, y, line));
  return line;
}

/// The correlation of x and y, 0 if one of them is constant.
double correlation(Points x, Points y) {
  const double both = std::sqrt(products(x, x) * products(y, y));
  return both > 0 ? products(x, y) / both : 0;
}

/// The correlation of first[n] and second[n + lag].
double correlation_at(Points first, Points second, int lag) {
  const auto skipped = static_cast<std::size_t>(std::abs(lag));
  return lag >= 0 ? correlation(first.first(first.size() - skipped), second.subspan(skipped))
                  : correlation(first.subspan(skipped), second.first(second.size() - skipped));
}

std::vector<double> changes(Points values) {
  std::vector<double> all;
  for (std::size_t n = 1; n < values.size(); ++n) all.push_back(values[n] - values[n - 1]);
  return all;
}

}  // namespace

double mean_of(Points values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Line fit_line(Points x, Points y, double low, double high) {
  const double spread = products(x, x);
  return with_slope(x, y, std::clamp(spread > 0 ? products(x, y) / spread : 1, low, high));
}

Line fit_gain(Points x, Points y) {
  double product = 0;
  for (std::size_t n = 0; n < x.size(); ++n) product += x[n] * y[n];
  Line line{.slope = product / std::max(squares(x), 1e-300)};
  line.squares = squares(deviations(x, y, line));
  return line;
}

std::optional<Split> find_split(Points x, Points y, double low, double high, double least) {
  constexpr std::size_t kShortestPart = 3;
  constexpr double kLeastF = 25, kMostLikeness = 0.9;
  const std::size_t count = x.size();
  if (count < 2 * kShortestPart + 2) return std::nullopt;
  const Line whole = fit_line(x, y, low, high);
  double fewest = whole.squares;
  std::optional<Split> best;
  std::vector<double> rest;
  for (std::size_t at = kShortestPart; at + kShortestPart <= count; ++at) {
    const Points x1 = x.first(at), x2 = x.subspan(at), y1 = y.first(at), y2 = y.subspan(at);
    const double spread = products(x1, x1) + products(x2, x2);
    const bool varies = spread > 1e-9 * squares(x);
    const double slope = varies ? std::clamp((products(x1, y1) + products(x2, y2)) / spread, low, high) : whole.slope;
    const Line before = with_slope(x1, y1, slope), after = with_slope(x2, y2, slope);
    if (before.squares + after.squares >= fewest) continue;
    fewest = before.squares + after.squares;
    best = Split{at, after.offset - before.offset};
    rest = deviations(x1, y1, before);
    const std::vector<double> behind = deviations(x2, y2, after);
    rest.insert(rest.end(), behind.begin(), behind.end());
  }
  if (!best || std::abs(best->shift) < least) return std::nullopt;
  const double n = static_cast<double>(count), gained = whole.squares - fewest;
  if (std::sqrt(gained / n) < least / 4) return std::nullopt;
  const double likeness = std::clamp(correlation_at(rest, rest, 1), 0.0, kMostLikeness);
  const bool clear = gained * (n - 3) * (1 - likeness) > kLeastF * fewest * (1 + likeness);
  return clear ? best : std::nullopt;
}

std::optional<int> find_lag(Points first, Points second, int most) {
  constexpr double kLeastCorrelation = 0.5, kFewestErrors = 4, kFewestErrorsOfChanges = 3;
  const auto count = static_cast<int>(first.size());
  most = std::min(most, count / 4);
  std::vector<double> found;  // the correlation at each lag from -most on
  for (int n = -most; n <= most; ++n) found.push_back(correlation_at(first, second, n));
  const auto at = [&](int n) { return found[static_cast<std::size_t>(n + most)]; };
  // A load that repeats itself correlates at several lags: the nearest peak is taken.
  constexpr double kAsGood = 0.05;
  const double now = at(0), highest = *std::ranges::max_element(found);
  int lag = 0;
  for (int far = most; far >= 0; --far) {
    for (const int n : {-far, far}) {
      const bool peak = (n == -most || at(n) >= at(n - 1)) && (n == most || at(n) >= at(n + 1));
      if (peak && at(n) >= highest - kAsGood) lag = n;
    }
  }
  const double best = at(lag);
  const double error = 1 / std::sqrt(std::max(1, count - std::abs(lag)));
  if (lag == 0 || best < std::max(kLeastCorrelation, kFewestErrors * error)) return std::nullopt;
  if (1 - best * best > (1 - std::max(0.0, now) * std::max(0.0, now)) / 2) return std::nullopt;
  const std::vector<double> of_first = changes(first), of_second = changes(second);
  if (correlation_at(of_first, of_second, lag) < kFewestErrorsOfChanges * error) return std::nullopt;
  return lag;
}

}  // namespace evener::measure
