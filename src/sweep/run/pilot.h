// How long the runs of a sweep have to measure, found by pilot runs: until the speed that a run tells deviates by no
// more than was asked for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "record/record.h"

namespace evener::sweeps {

/// The relative standard deviation of a run's speed, by what was seen within the run: the median's 95 % interval is
/// 3.92 of them wide. It holds what changes faster than a run lasts, and nothing of what differs from run to run.
/// Absent with fewer samples than an interval takes (record::kFewestSamples).
std::optional<double> deviation_within(const record::Record& record);

/// How many times longer the run has to be for a sensor of energy whose values come too seldom for its window; 1 where
/// no energy was lost for that reason.
double energy_needs(const record::Record& record);

/// What a pilot run of some length came to.
struct PilotRun {
  std::string failure = {};  // why it has no record; else empty
  double seconds = 0;        // of the whole process
  std::optional<double> deviation = {};
  double energy_needs = 1;
};

/// What pilot runs look for. Lengths are in the option's own unit: seconds, or epochs.
struct PilotGoal {
  double deviation = 0.02;    // a share of the speed
  double longest_run_s = 60;  // no run is made longer for it
  bool is_whole = false;      // only whole lengths
};

struct FoundLength {
  double length = 0;
  PilotRun last = {};      // at that length
  bool is_steady = false;  // the goal was reached
};

/// The seconds of a run of which the deviation would be steady, as it falls with the root of the length, and a fifth
/// more. Absent where the run tells none.
std::optional<double> seconds_needed(const PilotRun& run, double deviation);

/// Makes pilot runs of growing length, beginning with `length`, until one is steady, fails, or can't be made longer;
/// five at most. Each is as much longer as seconds_needed() of the one before says, from one and a half to eight times;
/// four times where it tells none. Gives up where that is far more than the longest run: a load makes it restless.
FoundLength steady_length(double length, const PilotGoal& goal, const std::function<PilotRun(double length)>& run);

}  // namespace evener::sweeps
