// `evener train`: a training with its measurements, files and record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "comm/host_group.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "parallel/pipeline.h"
#include "record/record.h"
#include "train/options.h"
#include "train/placements/candidates.h"
#include "train/placements/planner.h"
#include "train/steps/train.h"
#include "train/steps/trial.h"

namespace evener::training {

struct TrainingOutcome {
  record::Record record;
  record::Status status = record::Status::kDone;
  std::string status_reason;
  std::filesystem::path out;
};

/// Receives the progress of a training, beside the messages of all jobs.
class TrainWatcher : public measure::Observer {
 public:
  virtual void loading(LoadingStep /*step*/, std::size_t /*done*/, std::size_t /*images*/) {}
  virtual void setup(const TrainSetup& /*setup*/) {}
  virtual void step(const StepProgress& /*progress*/) {}
  virtual void epoch(const record::EpochRecord& /*epoch*/) {}
};

/// Trains as `flags` say, on the hosts that they or the system name. Options have been completed. Throws UsageError,
/// Error and Interrupted; but a training that was stopped or diverged has an outcome. Where other processes do the
/// training and write its results, as on several hosts, the outcome has no folder. `stop`: ends the training with a
/// checkpoint, as a signal does; null: signals alone.
TrainingOutcome train(const TrainFlags& flags, TrainWatcher& watcher, const StopFlag* stop = nullptr);

/// Trains on this host: prepares the output folder, trains while measuring, and writes record.json, epochs.csv and
/// samples.csv. On a host other than the first it only trains, and the outcome has no folder. A run that stops before
/// its first step leaves no files behind.
TrainingOutcome run_training(const TrainFlags& flags, TrainWatcher& watcher);

/// The text of --dry-run: the plan of the placement, for each host if there are several, and facts about the network,
/// the data, the weights and the engine. Images are listed but not decoded. Throws what a run would throw before its
/// first step.
std::string dry_run_text(const TrainFlags& flags);

/// What to do when a replica is lost (--restarts, --elastic).
measure::RankOptions rank_options(const TrainFlags& flags);

/// The options of the run of a training of `model` on `plan`.
measure::RunOptions run_options(const TrainFlags& flags, const std::string& model, const placement::Plan& plan);

/// "resnet34, 9 classes, 1x148x197: 1530 images to train on, 36 to validate, 234 to test".
std::string setup_text(const TrainSetup& setup);

/// Fills in what is known before the first step: options, engine, placement, model, data.
void fill_setup(record::Record& record, const TrainFlags& flags, const TrainOptions& options, const TrainSetup& setup);

/// Fills in the results. A run that only evaluated notes why it isn't judged.
void fill_results(record::Record& record, const TrainResult& result);

/// What came of a training, for people: accuracy, speed, time, memory, warnings.
std::string training_text(const record::Record& record);

/// Writes what each rank did in the last whole steps as Chrome's trace event format (chrome://tracing,
/// ui.perfetto.dev): a process for each replica, in it a row for each stage, on which gaps are the bubble. `work`: of
/// all ranks. The timeline of each of the `hosts` begins at 0, as their clocks aren't synchronised. Throws Error where
/// the file can't be written.
void write_stage_trace(const std::filesystem::path& path, std::span<const parallel::StageWork> work, int stages,
                       int hosts);

/// A sentence for each warning about a training, with the figures that it rests on and what to do: a loss that rises,
/// validation no better than always the largest class, a detector that finds the same box in blank images, training far
/// above validation, test far from validation, classes of few images or out of balance, images that are both in
/// training and in validation or test. Empty where there is none.
std::vector<std::string> training_warnings(const TrainSetup& setup, const TrainResult& result);
/// Warns where --quantize lost validation accuracy of the float weights, which the record beside these tells; "" = not,
/// or nothing tells it.
std::string quantization_loss(const TrainFlags& flags, const record::Record& record);

/// A sentence for each option that was given and has no effect with this plan, engine, network and data.
std::vector<std::string> ignored_options(const TrainFlags& flags, const TrainOptions& options, const TrainSetup& setup);

/// The hosts on which to start the command: those of --hosts or of the Slurm allocation; empty for a training on this
/// host alone, and in a process that was itself started for a host. Throws UsageError.
std::vector<std::string> hosts_to_start(const TrainFlags& flags);

/// The placements of the list in --on ("auto": the usual ones) on this machine. Throws UsageError for what is not
/// a placement.
std::vector<Candidate> candidates_of(const TrainFlags& flags);
/// The plans of the candidates whose devices this machine has.
std::vector<placement::Plan> plans_of(const std::vector<Candidate>& candidates);

/// Measures and predicts the candidates for about `seconds`, with the powers that `flags` say how to know, and chooses
/// by their goal.
Comparison compare_placements(const TrainFlags& flags, const std::vector<Candidate>& candidates,
                              PreparedTraining& training, double seconds, measure::Observer& observer);
/// Throws UsageError, with the nearest placement, where none surely keeps to the deadline and the budget.
void require_within_limits(const Comparison& comparison);
/// Why placements can't be used, a line for each of them.
std::string refusals_text(const Comparison& comparison);

/// Whether the number of epochs is computed from --minutes. Trainings on several hosts or with stages aren't timed
/// beforehand: there the time limit cuts the epochs of --epochs short.
bool times_epochs(const TrainFlags& flags, const placement::Plan& plan);

/// Decides the options that `flags` leave open, and sets them in `training`. `candidates`: of --on auto. Returns a
/// sentence for each decision with its reason. Throws UsageError where no placement can be used, Error where no batch
/// fits.
std::vector<std::string> decide(const TrainFlags& flags, const std::vector<Candidate>& candidates,
                                PreparedTraining& training, measure::Observer& progress);

/// The time of epochs, estimated from short trials.
struct EpochCost {
  double train_s = 0, validate_s = 0, test_s = 0;

  double epoch_s() const { return train_s + validate_s; }
};

struct EpochWork {
  std::size_t train_images = 0, val_images = 0, test_images = 0;
  std::int64_t batch = 1;
};

/// The cost by the steps of a trial. Where evaluation wasn't timed, it is estimated as the forward pass, a third of a
/// training step.
EpochCost epoch_cost(const TrialResult& trial, const EpochWork& work);

/// Lowers the cost of an epoch to `epoch_s`, the time of a real epoch in a trial (0 = none): other load on the machine
/// makes a measurement longer but never shorter, so the shorter one is right.
EpochCost no_longer_than(EpochCost cost, double epoch_s);

/// What the number of epochs depends on beside their cost.
struct EpochWish {
  bool given = false;        // --epochs was given by the user
  int epochs = 0;            // the value of --epochs, or what suits the weights
  bool has_weights = false;  // false: from scratch, with as many epochs as there is time for
  bool wants_time = false;   // the user gave --minutes and left all else to be chosen, so the time should be used
};

/// The most epochs that --minutes may result in.
int most_epochs(const EpochWish& wish);

/// The number of epochs that fit into `seconds` together with the test, from 1 to `most`. A tenth of the time is kept
/// in reserve, as the costs are estimates.
int epochs_within(double seconds, const EpochCost& cost, int most);

/// "--minutes 10: 42 epochs, each of about 9.1 s as measured".
std::string epochs_text(double minutes, int epochs, int most, const EpochCost& cost);

}  // namespace evener::training
