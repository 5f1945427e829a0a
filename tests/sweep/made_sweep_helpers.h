// Sweeps of runs that are told one by one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/sweep_file.h"
#include "sweep/figures/sweep.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::test {

// Sweeps of runs that a test makes one by one: their figures, parts, series and ends are as it says.

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
sweeps::Sweep sweep_of_runs(const std::vector<CellRun>& made,
                            const record::SweepRecord& record = simulated_record(2, 3),
                            const std::function<void(const CellRun&, record::Record&)>& change = {});

struct MadeRun {
  std::size_t cell = 0;
  int block = 1;
  double speed = 0;
  record::RunEnd end = record::RunEnd::kDone;
  std::string part = record::kMeasurePart;
  std::optional<double> joules = {};
  int series = 1;
  std::string model = "resnet34";
};

record::Record record_of(const MadeRun& run);

/// The sweep of simulated_record() with these runs.
sweeps::Sweep made_sweep(const record::SweepRecord& record, const std::vector<MadeRun>& runs);

/// The same as a folder.
void write_made_sweep(const std::filesystem::path& folder, const record::SweepRecord& record,
                      const std::vector<MadeRun>& runs);

/// A run in each of the blocks 1, 2, ...
std::vector<MadeRun> runs_in_blocks(std::size_t cell, const std::vector<double>& speeds, int first_block = 1);

}  // namespace evener::test
