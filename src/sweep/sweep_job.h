// `evener sweep`: runs a command with all combinations of some options, in randomised blocks, so that drifts of the
// machine hit all alike.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "measure/run/observer.h"
#include "options/option.h"
#include "record/sweep_file.h"
#include "sweep/figures/sweep.h"
#include "sweep/options.h"
#include "sweep/run/runner.h"

namespace evener::sweeps {

// Predicts the speed of a sweep's trainings by `evener plan`, before any of them has run.

/// Fills in the predictions of the cells that have none: runs `evener plan` once for each kind of work, for some
/// seconds, with all placements of that work. Notes cells that can't be predicted, which stay without. `program`: the
/// path of evener. Throws UsageError for a sweep of anything but trainings, and Interrupted.
void predict(const MeasuredCommands& commands, record::SweepRecord& sweep, measure::Observer& observer,
             const std::filesystem::path& program);

struct SweepOutcome {
  Sweep sweep;                              // with all runs in its folder, including those made before
  std::string stopped;                      // why it ended before all runs were made; empty: all were made
  std::optional<report::WrittenPage> page;  // absent: with --no-html

  std::size_t failed_cells() const;
  std::size_t invalid_cells() const;
};

/// Makes the runs that are still missing, each as a process of this program, and writes the sweep's files and its page.
/// `flags` must be completed. `stop`: ends it in good order, as a signal does; null: signals alone. Throws UsageError,
/// Error and Interrupted.
SweepOutcome sweep(const SweepFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The sweep that completed options ask for, still without the runs that exist already.
record::SweepRecord asked_for(const SweepFlags& flags);

/// Chooses the series of runs: continues the earlier one, or begins a new one where program or machine have changed, as
/// speeds then can't be compared. Returns why a new one begins; "" = none does.
std::string choose_series(record::SweepRecord& sweep, const std::optional<record::SweepRecord>& earlier,
                          const std::string& program, const std::string& machine);

/// Copies the predictions of the same cells from `earlier`, unless a new series has begun since.
void keep_predictions(const record::SweepRecord& earlier, record::SweepRecord& sweep);

/// The relative paths among the options, of files and folders that runs read.
std::vector<std::string> named_places(const SweepPlan& plan);

/// The text of --dry-run: the cells with the runs that are still missing and how long these will take. Runs nothing but
/// the plans of --predict, and writes nothing.
std::string sweep_dry_run_text(const SweepFlags& flags, measure::Observer& observer);

/// The option of the measured command that says how long a run measures.
struct RunLength {
  std::string key;        // "epochs", "min-duration", "seconds"
  double length = 0;      // in this sweep so far, in the option's unit
  bool is_whole = false;  // the option takes whole numbers alone
};

/// Throws UsageError with what to do instead where runs of the command can't be made longer, or where the option is an
/// axis.
RunLength run_length_of(const SweepPlan& plan);

struct SteadyPlan {
  SweepPlan plan;        // all of its cells have the same length, so that they stay comparable
  std::string sentence;  // for whoever reads the sweep or a record of it
};

/// Makes pilot runs of each cell below `folder`, where those of the same program on the same machine that are there are
/// taken as they are, until the speed within a run has a relative standard deviation of `deviation` at most, in each
/// cell. No run is made longer than `run_limit_s` (absent: a minute) for it. Throws what the executor throws.
SteadyPlan steady_plan(const SweepPlan& plan, double deviation, std::optional<double> run_limit_s,
                       const std::filesystem::path& folder, Executor& executor, measure::Observer& observer,
                       const std::string& program, const std::string& machine);

}  // namespace evener::sweeps
