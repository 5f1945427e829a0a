// A training as users ask for it: the run with its measuring, its files and its record.
#pragma once

#include <filesystem>
#include <string>

#include "base/this_work.h"
#include "job/observer.h"
#include "job/train/train_flags.h"
#include "record/record.h"
#include "run/metered_run.h"
#include "run/ranks.h"
#include "task/training/train.h"

namespace evener::job {

struct TrainingOutcome {
  record::Record record;
  record::Status status = record::Status::kDone;
  std::string status_reason;
  std::filesystem::path out;
};

/// Who listens to a training: how it goes on, beside what every job tells.
class TrainWatcher : public Observer {
 public:
  virtual void loading(task::LoadingStep /*step*/, std::size_t /*done*/, std::size_t /*images*/) {}
  virtual void setup(const task::TrainSetup& /*setup*/) {}
  virtual void step(const task::StepProgress& /*progress*/) {}
  virtual void epoch(const record::EpochRecord& /*epoch*/) {}
};

/// Trains as `flags` say, on the hosts that they or the system name. Options have been completed. Throws UsageError,
/// Error and Interrupted; but a training that was stopped or diverged has an outcome. Where other processes train, as
/// on several hosts, and tell of it, the outcome has no folder. `stop`: ends it in good order, with a
/// checkpoint, as a signal does; null: signals alone.
TrainingOutcome train(const TrainFlags& flags, TrainWatcher& watcher, const StopFlag* stop = nullptr);

/// On this host: prepares the output folder, trains with the meter running, and writes record.json, epochs.csv and
/// samples.csv. A process that leads another host than the first trains only, and has nothing to tell: its outcome has
/// no folder. A run that stops before its first step leaves nothing behind.
TrainingOutcome run_training(const TrainFlags& flags, TrainWatcher& watcher);

/// What a run would be, found out without training: the plan of the placement, on each host if there are several, and
/// what the network, the data, the weights and the engine come to. Images are listed and not decoded. Throws what a run
/// would throw before its first step.
std::string dry_run_text(const TrainFlags& flags);

/// What becomes of a replica that is lost.
run::RankOptions rank_options(const TrainFlags& flags);

/// The run around a training of `model` on `plan`.
run::RunOptions run_options(const TrainFlags& flags, const std::string& model, const placement::Plan& plan);

/// "resnet34, 9 classes, 1x148x197: 1530 images to train on, 36 to validate, 234 to test".
std::string setup_text(const task::TrainSetup& setup);

}  // namespace evener::job
