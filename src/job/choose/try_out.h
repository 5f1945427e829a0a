// A candidate tried out: a real training on the run's data that lasts some seconds and leaves nothing behind.
#pragma once

#include <filesystem>

#include "job/choose/choice.h"
#include "job/train/train_flags.h"
#include "task/training/train.h"

namespace evener::job {

/// Gives the options that the candidate stands for to those of `flags` that were not given.
void take_candidate(const Candidate& candidate, TrainFlags& flags);

/// Trains the candidate for about `seconds` after its images are read (and, with weights of other classes, its last
/// layer is fitted), in a process of its own that leaves `flags` as they are. What fails is told in the result. Throws
/// Interrupted.
CandidateTrial try_out(const TrainFlags& flags, const Candidate& candidate, double seconds);

/// How a candidate is tried: enough epochs for the time to end them, at a rate that stays, and no end before.
task::TrainOptions options_of_trial(const TrainFlags& flags, const std::filesystem::path& folder);

/// What a trial's training says of its candidate: its best quality, its epochs and their seconds, and the seconds that
/// a whole epoch with its validation takes, by the last one: an epoch that the end of the time cut short stands for its
/// share. Throws Error for a training that diverged, Interrupted for one that was interrupted.
CandidateTrial trial_of(const task::TrainResult& result);

}  // namespace evener::job
