// The same work in every way, in a fair order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "job/observer.h"
#include "job/sweep/sweep_flags.h"
#include "report/sweep.h"

namespace evener::job {

struct SweepOutcome {
  report::Sweep sweep;                      // with all runs of its folder, also those that were made before
  std::string stopped;                      // why it ended before all runs were made; empty: it didn't
  std::optional<report::WrittenPage> page;  // absent: none was asked for

  std::size_t failed_cells() const;
  std::size_t invalid_cells() const;
};

/// Makes the runs that are still to come, each in a process of this program's, and writes the sweep's files and its
/// page. Options have been completed. `stop`: ends it in good order, as a signal does; null: signals alone. Throws
/// UsageError, Error and Interrupted.
SweepOutcome sweep(const SweepFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// What completed options ask for, before it is known what there is of it.
record::SweepRecord asked_for(const SweepFlags& flags);

/// The series that this program on this machine goes on with, or begins. Returns why a new one begins; "" = none does.
std::string choose_series(record::SweepRecord& sweep, const std::optional<record::SweepRecord>& earlier,
                          const std::string& program, const std::string& machine);

/// Takes over what was predicted of the same cells earlier, unless a series has begun since.
void keep_predictions(const record::SweepRecord& earlier, record::SweepRecord& sweep);

/// Relative names of files and folders that runs read.
std::vector<std::string> named_places(const SweepPlan& plan);

/// The cells with the runs that are still to come and how long these take, in lines. Runs nothing, but for the plans of
/// --predict, and writes nothing.
std::string sweep_dry_run_text(const SweepFlags& flags, Observer& observer);

}  // namespace evener::job
