// `evener plan`: compares placements for a training by trying or predicting each for some seconds, without training.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "job/train/training.h"
#include "plan/planner.h"

namespace evener::job {

/// A training's options without those of a run's output, and the time for measuring.
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
  std::string work;  // the work that was planned for, in words
};

/// Compares the placements. Leaves no folder behind. Throws UsageError for candidates that are no placements. `stop`:
/// see run_training().
PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop = nullptr);

/// The comparison for a terminal and as JSON.
std::string comparison_text(const plan::Comparison& comparison);
nlohmann::ordered_json comparison_json(const plan::Comparison& comparison);

}  // namespace evener::job
