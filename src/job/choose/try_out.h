// Tries a candidate: a real training on the run's data that lasts some seconds and leaves no files.
#pragma once

#include <filesystem>

#include "job/choose/choice.h"
#include "job/train/train_flags.h"
#include "task/training/train.h"

namespace evener::job {

/// Sets those options of the candidate in `flags` that the user didn't give.
void take_candidate(const Candidate& candidate, TrainFlags& flags);

/// Trains the candidate for about `seconds` after its images are read (and, with weights of other classes, its last
/// layer is fitted), in a process of its own that leaves `flags` as they are. A failure is returned in
/// CandidateTrial::failure. Throws Interrupted.
CandidateTrial try_out(const TrainFlags& flags, const Candidate& candidate, double seconds);

/// The options of a trial: so many epochs that only the time limit ends it, a constant learning rate, and no early
/// stopping.
task::TrainOptions options_of_trial(const TrainFlags& flags, const std::filesystem::path& folder);

/// Turns the result of a trial's training into a CandidateTrial. The seconds of an epoch with its validation are those
/// of the last epoch, extrapolated if the time limit cut it short. Throws Error for a training that diverged,
/// Interrupted for one that was interrupted.
CandidateTrial trial_of(const task::TrainResult& result);

}  // namespace evener::job
