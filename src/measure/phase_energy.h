// Divides energy among phases: the energy between two readings goes to the phases that ended between them, in
// proportion to their time.
#pragma once

#include <deque>
#include <vector>

#include "measure/phase_recorder.h"
#include "record/energy.h"

namespace evener::measure {

class PhaseEnergyDivider {
 public:
  /// Takes in that `joules` were used in the last `seconds`. `totals`: phases of the run so far. A phase that lasted
  /// longer than `seconds` also gets earlier energy that no phase has claimed, as far back as it reaches.
  void add(double joules, double seconds, const PhaseTotals& totals);

  /// The energy of each phase that occurred, and of "other", the rest. `step_s`: the interval at which counters change.
  /// Phases whose marks last less than ten such steps on average are flagged as inaccurate.
  std::vector<record::PhaseEnergy> phases(double step_s) const;

 private:
  struct Piece {
    double joules = 0, seconds = 0;
  };
  Piece take(double seconds);

  std::deque<Piece> unclaimed_;  // in order of time; the oldest are merged
  PhaseTotals last_;
  std::array<double, kPhaseCount> joules_{};
};

}  // namespace evener::measure
