// Runs a sweep to its end or until it is stopped: a Schedule decides which run is next, an Executor makes it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/repeats.h"
#include "record/sweep_file.h"

namespace evener::sweeps {

// Decides which run of a sweep comes next, from the journal alone, so that a sweep that was killed goes on where it
// stopped. Makes no runs itself.

/// The order of a block's cells: a permutation of 0 .. cells-1 that depends on seed, part and block only. Block 2
/// reverses block 1: if there are few blocks, a machine that slows down could otherwise disfavour the same cell in
/// each.
std::vector<std::size_t> block_order(std::size_t cells, std::uint64_t seed, const std::string& part, int block);

class Schedule {
 public:
  Schedule(const record::SweepRecord& sweep, record::SweepJournal journal);

  /// The next run, with its folder, in the present block or in a new one. Absent if all is done.
  std::optional<record::SweepRun> next();
  /// The block that the last next() began, which has to be in the journal before the run; absent if it continued a
  /// block.
  std::optional<record::SweepBlock> begun_block();
  /// Takes in the end of a run.
  void ended(const record::SweepRun& run);
  /// Forgets the cell's runs that didn't end with kDone, so that they are made again.
  void again(const std::string& cell);

  /// The cells with ended runs that are not kDone.
  std::vector<std::string> bad_cells() const;
  /// The cell indices of the runs still to be made, one entry for each run. A stopping rule may add more later.
  std::vector<std::size_t> runs_left() const;
  const std::vector<record::SweepRun>& runs() const { return journal_.runs; }
  /// The number of ended runs of this series' cells.
  std::size_t done() const;

 private:
  std::size_t wanted(const std::string& part, std::size_t cell) const;
  std::size_t ended_runs(const std::string& part, const std::string& cell) const;
  bool has_failed(const std::string& cell) const;
  const record::SweepBlock* last_block(const std::string& part) const;
  std::optional<record::SweepRun> next_of(const record::SweepBlock& block) const;
  bool wants_more(const std::string& part, std::size_t cell) const;

  const record::SweepRecord& sweep_;
  record::SweepJournal journal_;
  std::optional<record::SweepBlock> begun_;
};

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

struct MadeRuns {
  std::size_t made = 0;  // runs made by this call
  std::string stopped;   // why it stopped early; "" = all runs are done
};

/// The expected time of the remaining runs. Each is taken to last as long as the cell's other runs (their median), else
/// as predicted, else as long as the runs of all cells. Absent if there is nothing to go by.
std::optional<double> expected_seconds(const record::SweepRecord& sweep, const Schedule& schedule);

/// Runs the sweep in `folder`, which holds sweep.json and which the caller has locked. Each run's end is on disk in the
/// journal before the next run begins, so a killed sweep loses one run at most. Throws what the executor and
/// `before_run` throw, and OutputError if the journal can't be written.
MadeRuns run_sweep(const record::SweepRecord& sweep, const std::filesystem::path& folder, Executor& executor,
                   SweepObserver& observer, const SweepOptions& options = {});

}  // namespace evener::sweeps
