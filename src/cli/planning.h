// Comparing placements for a training that is prepared: for `evener plan`, and for --on auto.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/progress.h"
#include "cli/training.h"
#include "plan/planner.h"
#include "task/trial.h"

namespace evener::cli {

/// Whether the placement is to be chosen.
bool is_automatic(const TrainFlags& flags);

/// Measures and predicts the placements of the list in `flags.on` ("auto": the usual ones) for `flags.plan_seconds`.
plan::Comparison compare_placements(const TrainFlags& flags, const task::Trials& trials, ProgressLine& progress);

struct Choice {
  placement::Plan plan;
  std::string reason;
};
/// The best of the usual placements. Throws UsageError when none can be used.
Choice choose_placement(const TrainFlags& flags, const task::Trials& trials, ProgressLine& progress);

/// The comparison for a terminal and as JSON.
std::string comparison_text(const plan::Comparison& comparison);
nlohmann::ordered_json comparison_json(const plan::Comparison& comparison);

}  // namespace evener::cli
