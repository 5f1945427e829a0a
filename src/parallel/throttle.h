// Emulates a device of a fraction of this one's speed ("@0.25" in a placement), for tests of unequal replicas.
#pragma once

#include "base/clock.h"

namespace evener::parallel {

/// Makes work take 1 / `factor` times as long, by waiting. `factor` in (0, 1]; 1 never waits.
class Throttle {
 public:
  explicit Throttle(double factor) : factor_(factor) {}

  void begin();
  /// Waits until the work since begin() has taken as long as on the slower device. Call this during the work too, so
  /// that its intermediate results (gradients that become ready) come as late as from the slower device. A wait that
  /// was too long is taken from later ones, also after the next begin().
  void catch_up();
  /// Leaves `seconds` of the time since begin() out, which were spent waiting for others.
  void exclude(double seconds) { excluded_s_ += seconds; }
  /// The slower device's time since begin(): work and sleep, without excluded time.
  double seconds() const { return clock_.seconds() - excluded_s_; }

 private:
  const double factor_;
  Stopwatch clock_;
  double excluded_s_ = 0, slept_s_ = 0;
  double missing_s_ = 0;  // sleep that is still owed; negative after one that was too long
  double carried_s_ = 0;  // missing_s_ at begin()
};

}  // namespace evener::parallel
