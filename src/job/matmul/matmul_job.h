// Products of two matrices on each device of a placement, checked and timed.
#pragma once

#include <filesystem>
#include <vector>

#include "base/this_work.h"
#include "job/matmul/matmul_flags.h"
#include "job/matmul/record.h"
#include "job/observer.h"

namespace evener::job {

struct MatmulRun {
  measure::Record record;
  std::vector<DeviceProducts> devices;  // one after the other, in the placement's order
  std::filesystem::path folder;         // of the record; empty: none was asked for
};

/// Multiplies on one device after the other, so that none takes cores or memory from another. Throws UsageError for a
/// placement that divides or emulates, and Error where a product is wrong. `stop`: ends it in good order, as a signal
/// does; null: signals alone.
MatmulRun multiply(const MatmulFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
