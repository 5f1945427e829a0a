// Emulates a device of a fraction of this one's speed ("@0.25" in a placement), for tests of unequal replicas.
#pragma once

#include "base/clock.h"

namespace evener::parallel {

/// Stretches the time of work by sleeping. `factor` in (0, 1]; 1 never sleeps.
class Throttle {
 public:
  explicit Throttle(double factor) : factor_(factor) {}

  void begin();
  /// Sleeps until the work since begin() has taken as long as on the slower device. Called now and then during the
  /// work, so that what others see of it (gradients becoming ready) comes as late as from the slower device. Sleeps
  /// that would be too short are made up for later, also after the next begin().
  void catch_up();
  /// Time since begin() that was not work but waiting for others.
  void exclude(double seconds) { excluded_s_ += seconds; }
  /// Time of the slower device since begin(): work and sleep, without what was excluded.
  double seconds() const { return clock_.seconds() - excluded_s_; }

 private:
  const double factor_;
  Stopwatch clock_;
  double excluded_s_ = 0, slept_s_ = 0;
  double missing_s_ = 0;  // sleep that was too short to be worth it, or less than nothing after one that was too long
  double carried_s_ = 0;  // what was missing at begin()
};

}  // namespace evener::parallel
