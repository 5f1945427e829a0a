// Sweeps whose truth is known: the schedule, the stopping rule and the claims are the program's, the runs are made up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "record/sweep_file.h"
#include "report/disturbances_helpers.h"
#include "report/sweep.h"

namespace evener::test {

struct SimulatedSweep {
  std::vector<double> speeds;  // of the cells, without noise
  double noise = 0.01;         // standard deviation of the logarithm
  double drift = 0;            // by which the machine becomes slower, over drift_runs runs
  double drift_runs = 1;
  const Disturbance* disturbance = nullptr;  // in place of `noise` and `drift`
  const OtherLoad* load = nullptr;           // beside `noise` or the disturbance
  double slower_by = 1;                      // percent that a percent of other programs' load costs
  double slower_by_noise = 0;                // relative standard deviation of it
  std::function<int(std::size_t)> threads = [](std::size_t) { return 1; };  // of each cell
  int cpus = 0;                                                             // of the machine; 0 = not known
};

/// A sweep of so many cells, "on" being its axis.
record::SweepRecord simulated_record(std::size_t cells, int repeats);

/// Runs it to its end, with noise that belongs to `trial`.
report::Sweep simulate(const record::SweepRecord& record, const SimulatedSweep& sweep, std::uint64_t trial);

/// Whether it names a winner, a cell that the best one is told apart from, or one that differs from the first.
bool claims_anything(const report::Sweep& sweep);

}  // namespace evener::test
