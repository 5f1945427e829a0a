// Predicts the speed of a sweep's trainings by `evener plan`, before any of them has run.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "job/observer.h"
#include "job/options/option.h"
#include "record/sweep_file.h"

namespace evener::job {

/// Fills in the predictions of the cells that have none: runs `evener plan` once for each kind of work, for some
/// seconds, with all placements of that work. Notes cells that can't be predicted, which stay without. `program`: the
/// path of evener. Throws UsageError for a sweep of anything but trainings, and Interrupted.
void predict(record::SweepRecord& sweep, Observer& observer, const std::filesystem::path& program);

/// The words of an `evener plan` for the work of a cell, without its placement and without options that make no
/// difference to a plan. `options`: those of the measured command.
std::vector<std::string> plan_words(const record::SweepCell& cell, const OptionSet& options);

/// Copies the prediction for the cell's placement from the JSON of a plan into the cell: images per second, and the
/// seconds of all its epochs. Leaves the cell as it is where the plan lacks the placement.
void take_prediction(const nlohmann::json& plan, const OptionSet& options, record::SweepCell& cell);

}  // namespace evener::job
