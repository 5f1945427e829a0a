// Runs a sweep to its end, or until it is stopped: the order and the state are the schedule's, the runs an executor's.
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
  std::string reason;            // why it is not done
  double seconds = 0;            // of the process
  std::optional<double> figure;  // its speed; absent without one
};

/// Makes one run; a process, or a simulation.
class Executor {
 public:
  virtual ~Executor() = default;
  /// `folder`: where it leaves its record; not there yet, or what a run left that was cut short. Throws Interrupted
  /// after a stop request, and then the run doesn't count.
  virtual ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) = 0;
  /// A run that had begun when the sweep was killed: what it left, if it had come to its end; absent otherwise.
  virtual std::optional<ExecutedRun> left_in(const std::filesystem::path& folder) = 0;
};

/// Who shows a sweep while it goes on. `number` counts from 1, `all` are the runs that are known to be there.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void on_begin(const record::SweepRun& run, const record::SweepCell& cell, std::size_t number,
                        std::size_t all) = 0;
  virtual void on_end(const record::SweepRun& run, const record::SweepCell& cell, std::optional<double> left_s) = 0;
};

struct SweepOptions {
  bool again_failed = false;
  /// Asked before each run; throws where the sweep must not go on: the program or the data has changed.
  std::function<void(const record::SweepCell&)> before_run = {};
};

struct SweepOutcome {
  std::size_t made = 0;  // runs of this session
  std::string stopped;   // why it stopped before all was done; "" = all is done
};

/// Seconds that runs will take, by what runs of the same cell took, or else what was predicted of it, or else what runs
/// of any cell took; absent where none has ended and nothing was predicted.
std::optional<double> expected_seconds(const record::SweepRecord& sweep, const Schedule& schedule);

/// `folder` holds sweep.json, and is locked. Every run that ended is in the journal, on the disk, before the next one
/// begins. Throws what the executor and `before_run` throw, and OutputError where the journal can't be written.
SweepOutcome run_sweep(const record::SweepRecord& sweep, const std::filesystem::path& folder, Executor& executor,
                       SweepObserver& observer, const SweepOptions& options = {});

}  // namespace evener::bench
