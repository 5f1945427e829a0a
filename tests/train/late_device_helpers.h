// An engine whose made-up device is driven ahead: it takes a known time for each step, the calls that hand steps over
// return at once, and results come some steps later.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "engine/engine.h"

namespace evener::test {

/// What the device is, and what its trainers saw; outlives them.
struct LateDevice {
  double step_s = 0.02;
  std::size_t behind = 2;  // steps whose results are left to come
  // By the trainers' own count:
  std::atomic<double> waited_s = 0;      // inside calls, for results
  std::atomic<double> first_done_s = 0;  // when the first step was through, in now_s()
};

/// Its trainers learn nothing: they keep the weights that they are given.
std::unique_ptr<engine::Engine> make_late_engine(LateDevice& device);

}  // namespace evener::test
