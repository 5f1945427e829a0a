// Holds two sources of a run's energy against each other: do they agree, and if not, how do they differ?
#pragma once

#include <string>
#include <vector>

#include "measure/power_curve.h"
#include "record/energy.h"

namespace evener::measure {

/// A channel as a check sees it.
struct CheckedChannel {
  std::string name;
  PowerCurve curve;
  double period_s = 0;            // between two changes of its value
  double step_j = 0;              // resolution of its counter; 0 = unknown, or it reports power
  bool counts = false;            // a counter of energy, not power
  bool may_draw_nothing = false;  // a card that can be switched off, say
  struct Still {
    double from_s = 0, to_s = 0;
    double seconds() const { return to_s - from_s; }
  } still = {};             // the longest time in which its value stayed the same
  double next_still_s = 0;  // the next longest
};

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
