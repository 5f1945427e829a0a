// `evener sweep --steady P%`: how long the runs of a sweep measure, found by pilot runs of its cells.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bench/sweep/runner.h"
#include "job/observer.h"
#include "job/sweep/sweep_plan.h"

namespace evener::job {

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

/// Makes pilot runs of each cell below `folder`, where those that are there are taken as they are, until the speed
/// within a run has a relative standard deviation of `deviation` at most, in each cell. No run is made longer than
/// `run_limit_s` (absent: a minute) for it. Throws what the executor throws.
SteadyPlan steady_plan(const SweepPlan& plan, double deviation, std::optional<double> run_limit_s,
                       const std::filesystem::path& folder, bench::Executor& executor, Observer& observer);

}  // namespace evener::job
