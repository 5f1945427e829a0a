// What `evener plan` predicts of a sweep's trainings, before any of them has run.
#pragma once

#include "job/observer.h"
#include "measure/sweep_file.h"

namespace evener::job {

/// Fills in the predictions of the cells that have none: for each kind of work among them `evener plan` runs once, for
/// some seconds, with all placements of that work. What can't be predicted is told to `observer` and stays without.
/// Throws UsageError for a sweep of anything but trainings, and Interrupted.
void predict(measure::SweepRecord& sweep, Observer& observer);

}  // namespace evener::job
