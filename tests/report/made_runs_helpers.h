// Sweeps of runs that a test makes one by one: their figures, parts, series and ends are as it says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/sweep_file.h"
#include "report/sweep.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::test {

/// A run with its speed, energy and time; what has none is absent.
struct CellRun {
  std::string cell;
  int block = 1;
  std::optional<double> speed = {}, joules = {}, seconds = {};
  std::string part = record::kMeasurePart;
  record::RunEnd end = record::RunEnd::kDone;
  int series = 1;
  std::string reason = {};
};

/// `change` has the last word on a run's record, and may throw.
report::Sweep sweep_of_runs(const std::vector<CellRun>& made,
                            const record::SweepRecord& record = simulated_record(2, 3),
                            const std::function<void(const CellRun&, record::Record&)>& change = {});

}  // namespace evener::test
