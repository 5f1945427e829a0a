// Runs a sweep to its end or until it is stopped: a Schedule decides which run is next, an Executor makes it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "bench/sweep/schedule.h"
#include "record/sweep_file.h"

namespace evener::bench {

struct ExecutedRun {
  record::RunEnd end = record::RunEnd::kDone;
  std::string reason;            // why `end` is not kDone
  double seconds = 0;            // duration of the process
  std::optional<double> figure;  // its speed; absent without one
};

/// Makes single runs: in processes, or simulated in tests.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Makes a run that leaves its record in `folder`, which doesn't exist yet or has the remains of an interrupted run.
  /// Throws Interrupted after a stop request; the run then doesn't count.
  virtual ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) = 0;
  /// The result of a run that was under way when the sweep was killed, if the run itself finished; else absent.
  virtual std::optional<ExecutedRun> left_in(const std::filesystem::path& folder) = 0;
};

/// Shows the progress of a sweep. `number` counts runs from 1; `all` is the number of runs known so far, which a
/// stopping rule may increase. `left_s`: see expected_seconds().
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void on_begin(const record::SweepRun& run, const record::SweepCell& cell, std::size_t number,
                        std::size_t all) = 0;
  virtual void on_end(const record::SweepRun& run, const record::SweepCell& cell, std::optional<double> left_s) = 0;
};

struct SweepOptions {
  bool again_failed = false;
  /// Called before each run. Throws to end the sweep, because the program or the data have changed.
  std::function<void(const record::SweepCell&)> before_run = {};
};

struct SweepOutcome {
  std::size_t made = 0;  // runs made by this call
  std::string stopped;   // why it stopped early; "" = all runs are done
};

/// The expected time of the remaining runs. Each is taken to last as long as the cell's other runs (their median), else
/// as predicted, else as long as the runs of all cells. Absent if there is nothing to go by.
std::optional<double> expected_seconds(const record::SweepRecord& sweep, const Schedule& schedule);

/// Runs the sweep in `folder`, which holds sweep.json and which the caller has locked. Each run's end is on disk in the
/// journal before the next run begins, so a killed sweep loses one run at most. Throws what the executor and
/// `before_run` throw, and OutputError if the journal can't be written.
SweepOutcome run_sweep(const record::SweepRecord& sweep, const std::filesystem::path& folder, Executor& executor,
                       SweepObserver& observer, const SweepOptions& options = {});

}  // namespace evener::bench
