// Sweeps whose truth is known: the schedule, the stopping rule and the claims are the program's, the runs are made up.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "record/sweep_file.h"
#include "sweep/figures/sweep.h"

namespace evener::test {

struct Disturbance {
  const char* name;
  /// Begins a sweep of about so many runs; then gives the logarithm of what each run's speed is multiplied by.
  std::function<std::function<double(Random&)>(double runs)> begin;
};

const std::vector<Disturbance>& disturbances();

/// How other programs take CPUs beside the runs of a sweep.
struct OtherLoad {
  const char* name;
  bool leans;  // on a cell
  /// Begins a sweep of about so many runs; then gives for each run, by its cell, the percent of all CPUs that others
  /// take.
  std::function<std::function<double(std::size_t cell, Random&)>(double runs)> begin;
};

const std::vector<OtherLoad>& other_loads();

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
  std::vector<double> joules = {};  // of the cells, without noise; empty: not measured
  /// Of the cells: all images over all seconds, where `speeds` are medians; empty: not told.
  std::vector<double> wholes = {};
  double whole_noise = 0;  // standard deviation of its logarithm
};

/// A sweep of so many cells, "on" being its axis.
record::SweepRecord simulated_record(std::size_t cells, int repeats);

/// Runs it to its end, with noise that belongs to `trial`.
sweeps::Sweep simulate(const record::SweepRecord& record, const SimulatedSweep& sweep, std::uint64_t trial);

/// Whether its sentences or its table say that any cell is better or worse than another: that one is best, takes the
/// least energy or scales down, that it is undecided between some of the cells, or that a row is faster or slower.
bool claims_anything(const sweeps::Sweep& sweep);

/// What its sentences say otherwise than the rows of its table: a ratio, an interval, a verdict. Of cells of one job
/// whose names are their numbers.
std::vector<std::string> contradictions(const sweeps::Sweep& sweep);

}  // namespace evener::test
