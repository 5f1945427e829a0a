// `evener matmul`: products of two matrices on each device of a placement, checked and timed.
#pragma once

#include <filesystem>
#include <vector>

#include "base/this_work.h"
#include "job/matmul/matmul_flags.h"
#include "job/matmul/record.h"
#include "job/observer.h"
#include "record/record.h"
#include "run/metered_run.h"

namespace evener::job {

struct MatmulRun {
  record::Record record;
  std::vector<DeviceProducts> products;  // of each device, in the order of the placement
  std::filesystem::path folder;          // empty: none was asked for
};

/// Multiplies on one device after the other. `stop`: ends it in good order, as a signal does; null: signals alone.
/// Throws UsageError, Error and Interrupted.
MatmulRun matmul(const MatmulFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// The options of the products on one device, and those of the run.
task::MatmulOptions matmul_options(const MatmulFlags& flags, const placement::PlanStage& stage);
run::RunOptions run_options(const MatmulFlags& flags);

}  // namespace evener::job
