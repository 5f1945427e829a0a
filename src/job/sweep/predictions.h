// What `evener plan` predicts of a sweep's trainings, before any of them has run.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "job/observer.h"
#include "job/options/option_set.h"
#include "record/sweep_file.h"

namespace evener::job {

/// Fills in the predictions of the cells that have none: for each kind of work among them `evener plan` runs once, for
/// some seconds, with all placements of that work. What can't be predicted is told to `observer` and stays without.
/// `program`: evener. Throws UsageError for a sweep of anything but trainings, and Interrupted.
void predict(record::SweepRecord& sweep, Observer& observer, const std::filesystem::path& program);

/// The words of an `evener plan` for the work of a cell, but for its placement: without what makes no difference to a
/// plan. `options`: those of the measured command.
std::vector<std::string> plan_words(const record::SweepCell& cell, const OptionSet& options);

/// Takes the prediction for the cell's placement from the JSON of a plan: images per second, and the seconds of all of
/// the cell's epochs. A plan that says nothing of the placement leaves the cell as it is.
void take_prediction(const nlohmann::json& plan, const OptionSet& options, record::SweepCell& cell);

}  // namespace evener::job
