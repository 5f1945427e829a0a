// Holds two sources of a run's energy against each other: do they agree, and if not, how do they differ?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/energy.h"

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

/// A channel as a check sees it.
struct CheckedChannel {
  std::string name;
  PowerCurve curve;
  double period_s = 0;            // between two changes of its value, as found or stated
  double stated_s = 0;            // the same as its sensor states it
  double step_j = 0;              // resolution of its counter; 0 = unknown, or it reports power
  bool counts = false;            // a counter of energy, not power
  bool may_draw_nothing = false;  // a card that can be switched off, say
  struct Still {
    double from_s = 0, to_s = 0;
    double seconds() const { return to_s - from_s; }
  } still = {};             // the longest time in which its value stayed the same
  double next_still_s = 0;  // the next longest
};

/// Whether a counter, while it stood still for the longest time, lost half or more of what the rest of its time lets
/// expect: it didn't make up for it when it moved again.
bool lost_while_still(const CheckedChannel& channel);

/// A source is the sum of its channels.
using CheckedSource = std::vector<CheckedChannel>;

/// How what the second source sees relates to what the first one sees. kSame: it is the same. kMachine: it is the whole
/// machine, and the first source sees the processors. kMore: it includes what the first one sees, and other parts that
/// draw what they like.
enum class Relation { kSame, kMachine, kMore };

/// Compares joules in consecutive windows from `begin_s` to `end_s`, the ends of the run by boot_now_s(). A lag is
/// found by cross-correlation, a jump as the split of the windows that explains them better than one straight line
/// does, and gain and offset are told apart by which of the two alone fits better.
record::MeterCheck check_meters(const CheckedSource& first, const CheckedSource& second, Relation relation,
                                double begin_s, double end_s);

}  // namespace evener::measure
