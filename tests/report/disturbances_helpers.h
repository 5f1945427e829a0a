// How machines disturb runs that are made one after the other: what intervals have to stand.
#pragma once

#include <functional>
#include <vector>

#include "base/random.h"

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

}  // namespace evener::test
