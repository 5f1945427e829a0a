// `evener plan`: compares placements for a training by trying or predicting each for some seconds, without training.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options/measured_command.h"
#include "train/placements/planner.h"
#include "train/training.h"

namespace evener::training {

/// The comparison for a terminal and as JSON.
std::string comparison_text(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);

/// Time against energy of an image as a plot of characters: each row that has both by a letter, and below it what the
/// letters stand for. A star marks the rows that none beats in both. "" for fewer than two such rows.
std::string front_plot(const Comparison& comparison);

/// A training's options without those of a run's output and measurements, and the time for measuring. Those that make
/// no difference here can be given, too: what trains is planned by the same words.
struct PlanFlags : TrainFlags {
  struct Probing : OptionGroup {
    Probing() : OptionGroup("Measuring") {}

    Option<double> seconds{*this, "--seconds SECONDS", 15, within(more_than_zero()), "How long to measure, about"};
  };
  Probing probing;
  /// In which each placement is tried; set by complete(). Absent: that of the options.
  std::vector<std::optional<Precision>> precisions = {std::nullopt};

  PlanFlags();
  OptionSet options();
};

/// Sets options that were not given as `train` does (complete_learning()), and reads a list in --precision
/// ("fp32,bf16"; "auto": those that are fast here). Throws UsageError.
void complete(PlanFlags& flags, measure::Observer* observer);

struct PlanOutcome {
  Comparison comparison;
  std::string work;  // the work that was planned for, in words
};

/// Compares the placements. Leaves no folder behind. Throws UsageError for candidates that are no placements. `stop`:
/// see run_training().
PlanOutcome run_plan(const PlanFlags& flags, TrainWatcher& watcher, const StopFlag* stop = nullptr);

/// `evener train` as a sweep runs it, whose speed `evener plan` predicts.
MeasuredCommand measured_train();

}  // namespace evener::training
