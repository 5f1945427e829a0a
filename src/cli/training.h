// One training run as the command line sees it: the run with its measuring, and its record.
#pragma once

#include <filesystem>
#include <string>

#include "cli/options/train_flags.h"
#include "measure/record.h"
#include "task/train.h"

namespace evener::cli {

struct TrainingOutcome {
  measure::Record record;
  task::TrainStatus status = task::TrainStatus::kDone;
  std::string status_reason;
  std::filesystem::path out;
};

/// Prepares the output folder, trains with the meter running, and writes record.json, epochs.csv and samples.csv.
/// Progress goes to stderr. A process that leads another host than the first trains only, and has nothing to tell. A
/// run that stops before its first step leaves nothing behind.
TrainingOutcome run_training(const TrainFlags& flags);

}  // namespace evener::cli
