// Divides energy among phases: what was used between two looks goes to the phases that ended between them, by their
// time.
#pragma once

#include <deque>
#include <vector>

#include "measure/phase_recorder.h"
#include "record/energy.h"

namespace evener::measure {

class PhaseEnergyDivider {
 public:
  /// `joules` were used in the last `seconds`, and the phases so far are `totals`. A phase that took longer than that
  /// also gets what was used before, as far back as it reaches.
  void add(double joules, double seconds, const PhaseTotals& totals);

  /// Of each phase that there was; "other" is the rest. `step_s`: of the counters; phases whose marks last less than
  /// ten steps on average are flagged.
  std::vector<record::PhaseEnergy> phases(double step_s) const;

 private:
  struct Piece {
    double joules = 0, seconds = 0;
  };
  Piece take(double seconds);

  std::deque<Piece> unclaimed_;  // in the order of time; the oldest ones become one
  PhaseTotals last_;
  std::array<double, kPhaseCount> joules_{};
};

}  // namespace evener::measure
