// Comparing placements for a training, without training: for some seconds each is tried or predicted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "job/train/training.h"
#include "plan/planner.h"

namespace evener::job {

/// A training's options, and a time for measuring instead of those that belong to a run.
struct PlanFlags : TrainFlags {
  struct Probing : OptionGroup {
    Probing() : OptionGroup("Measuring") {}

    Option<double> seconds{
        *this, {"--seconds", "SECONDS", "How long to measure, about"}, 15, {.range = more_than_zero()}};
  };
  Probing probing;

  PlanFlags();
  OptionSet options();
};

struct PlanOutcome {
  plan::Comparison comparison;
  std::string work;  // what was planned for, in words
};

/// Leaves no folder: what is measured here is what a run of `train` has too, and pays for. Throws UsageError for
/// candidates that are no placements. `stop`: see run_training().
PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop = nullptr);

/// The comparison for a terminal and as JSON.
std::string comparison_text(const plan::Comparison& comparison);
nlohmann::ordered_json comparison_json(const plan::Comparison& comparison);

}  // namespace evener::job
