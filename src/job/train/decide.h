// What a training's options leave open, decided once it is prepared: its placement by measuring, its batch by trying,
// and its epochs by the time that there is.
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
/// The plans of those that this machine has the devices for.
std::vector<placement::Plan> plans_of(const std::vector<plan::Candidate>& candidates);

/// Measures and predicts them for about `seconds`.
plan::Comparison compare_placements(const std::vector<plan::Candidate>& candidates, const task::Trials& trials,
                                    double seconds, Observer& observer);
/// Why placements can't be used, a line for each that can't.
std::string refusals_text(const plan::Comparison& comparison);

/// Whether the epochs are as many as --minutes has time for. Several hosts, and stages, aren't timed beforehand: there
/// the time ends the epochs that --epochs says.
bool times_epochs(const TrainFlags& flags, const placement::Plan& plan);

/// Decides what `flags` leave open, on `training`, which takes it. `candidates`: of --on auto. A sentence for each
/// decision says why. Throws UsageError where no placement can be used, Error where no batch fits.
std::vector<std::string> decide(const TrainFlags& flags, const std::vector<plan::Candidate>& candidates,
                                task::PreparedTraining& training, Observer& progress);

/// What epochs cost, as far as short trials tell.
struct EpochCost {
  double train_s = 0, validate_s = 0, test_s = 0;

  double epoch_s() const { return train_s + validate_s; }
};

struct EpochWork {
  std::size_t train_images = 0, val_images = 0, test_images = 0;
  std::int64_t batch = 1;
};

/// From the steps of a trial. What wasn't timed is taken from training, of which a third is the forward pass.
EpochCost epoch_cost(const task::TrialResult& trial, const EpochWork& work);

/// An epoch takes no longer than `epoch_s`, which was seen in a trial (0 = in none): whatever else the machine does
/// makes either measurement longer, and none shorter.
EpochCost no_longer_than(EpochCost cost, double epoch_s);

/// What is known of the number of epochs before their time is.
struct EpochWish {
  bool given = false;        // by the user
  int epochs = 0;            // that, or what suits the weights
  bool has_weights = false;  // from scratch it may take as many as there is time for
  bool wants_time = false;   // whoever gives minutes and leaves all else to be chosen wants them used
};

/// The most epochs that --minutes may come to.
int most_epochs(const EpochWish& wish);

/// The epochs that fit into `seconds` with the test, a tenth of that time kept back: it is measured and not known; at
/// least 1 and at most `most`.
int epochs_within(double seconds, const EpochCost& cost, int most);

/// "--minutes 10: 42 epochs, each of about 9.1 s as measured".
std::string epochs_text(double minutes, int epochs, int most, const EpochCost& cost);

}  // namespace evener::job
