// Comparing placements for a training that is prepared: for `evener plan`, and for --on auto.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "job/observer.h"
#include "job/train/train_flags.h"
#include "plan/candidates.h"
#include "plan/planner.h"
#include "task/trial.h"

namespace evener::job {

/// The placements of the list in --on ("auto": the usual ones) on this machine. Throws UsageError for what is not
/// a placement.
std::vector<plan::Candidate> candidates_of(const TrainFlags& flags);
/// The plans of those that this machine has the devices for.
std::vector<placement::Plan> plans_of(const std::vector<plan::Candidate>& candidates);

/// Measures and predicts them for about `seconds`.
plan::Comparison compare_placements(const std::vector<plan::Candidate>& candidates, const task::Trials& trials,
                                    double seconds, Observer& observer);

struct Choice {
  placement::Plan plan;
  std::string reason;
};
/// The best of them. Throws UsageError when none can be used.
Choice choose_placement(const std::vector<plan::Candidate>& candidates, const task::Trials& trials, double seconds,
                        Observer& progress);

/// The comparison for a terminal and as JSON.
std::string comparison_text(const plan::Comparison& comparison);
nlohmann::ordered_json comparison_json(const plan::Comparison& comparison);

}  // namespace evener::job
