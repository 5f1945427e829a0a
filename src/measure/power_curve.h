// The energy of one source over the time of a run, in bins that become wider as the run becomes longer.
#pragma once

#include <optional>
#include <vector>

namespace evener::measure {

/// Joules over time, by boot_now_s(), in 2048 bins at most however long a run is.
class PowerCurve {
 public:
  /// Spreads `joules` evenly over the time between. Successive calls go forward in time.
  void add(double from_s, double to_s, double joules);

  /// From the first to the last moment that is known; both 0 before the first add().
  double begin_s() const { return begin_s_; }
  double end_s() const { return end_s_; }
  /// Width of the bins: what happened within one of them isn't kept.
  double width_s() const { return width_s_; }
  /// The joules between two moments, at constant power within a bin. Absent where more than 1 % of that time is
  /// unknown.
  std::optional<double> joules(double from_s, double to_s) const;

 private:
  struct Bin {
    double joules = 0, seconds = 0;  // seconds: how much of the bin is known
  };
  std::vector<Bin> bins_;  // from origin_s_
  double origin_s_ = 0, width_s_ = 0.25;
  double begin_s_ = 0, end_s_ = 0;
};

}  // namespace evener::measure
