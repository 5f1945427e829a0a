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

}  // namespace evener::test
