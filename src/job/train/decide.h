// Decides the options of a prepared training that were left open: the placement by measuring (--on auto), the batch by
// trying (--batch max), and the epochs by the time limit (--minutes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "job/observer.h"
#include "job/train/train_flags.h"
#include "plan/candidates.h"
#include "plan/planner.h"
#include "task/training/trial.h"

namespace evener::job {

/// The placements of the list in --on ("auto": the usual ones) on this machine. Throws UsageError for what is not
/// a placement.
std::vector<plan::Candidate> candidates_of(const TrainFlags& flags);
/// The plans of the candidates whose devices this machine has.
std::vector<placement::Plan> plans_of(const std::vector<plan::Candidate>& candidates);

/// Measures and predicts the candidates for about `seconds`, with the powers that `flags` say how to know, and chooses
/// by their goal.
plan::Comparison compare_placements(const TrainFlags& flags, const std::vector<plan::Candidate>& candidates,
                                    task::PreparedTraining& training, double seconds, Observer& observer);
/// Why placements can't be used, a line for each of them.
std::string refusals_text(const plan::Comparison& comparison);

/// Whether the number of epochs is computed from --minutes. Trainings on several hosts or with stages aren't timed
/// beforehand: there the time limit cuts the epochs of --epochs short.
bool times_epochs(const TrainFlags& flags, const placement::Plan& plan);

/// Decides the options that `flags` leave open, and sets them in `training`. `candidates`: of --on auto. Returns a
/// sentence for each decision with its reason. Throws UsageError where no placement can be used, Error where no batch
/// fits.
std::vector<std::string> decide(const TrainFlags& flags, const std::vector<plan::Candidate>& candidates,
                                task::PreparedTraining& training, Observer& progress);

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
EpochCost epoch_cost(const task::TrialResult& trial, const EpochWork& work);

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

}  // namespace evener::job
