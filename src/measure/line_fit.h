// Straight lines through the powers of two meters.
#pragma once

#include <optional>
#include <span>

namespace evener::measure {

/// Their mean; 0 for none.
double mean_of(std::span<const double> values);

/// y = slope * x + offset.
struct Line {
  double slope = 1, offset = 0;
  double squares = 0;  // sum of the squared deviations
};

/// The line of least squares whose slope lies from `low` to `high`. At least one point.
Line fit_line(std::span<const double> x, std::span<const double> y, double low, double high);
/// The same through the origin.
Line fit_gain(std::span<const double> x, std::span<const double> y);

/// A change of the offset at y[at], with a common slope.
struct Split {
  std::size_t at = 0;
  double shift = 0;  // of the offset, in units of y
};
/// The split that explains the points best, if it does so far better than one line: by an F test whose limit, 25, is
/// well above the 5 % point of the largest F over all splits (some 9 to 12: Andrews 1993), corrected for the
/// correlation of neighbouring deviations. `least`: shifts that are smaller don't count.
std::optional<Split> find_split(std::span<const double> x, std::span<const double> y, double low, double high,
                                double least);

/// By how many places `second` follows `first` (negative: it precedes it), up to `most`. Absent if that is 0, or if the
/// samples don't show it: the shift must halve the unexplained variance, and the changes must correlate as well.
std::optional<int> find_lag(std::span<const double> first, std::span<const double> second, int most);

}  // namespace evener::measure
