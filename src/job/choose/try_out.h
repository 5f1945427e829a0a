// A candidate tried out: a real training on the run's data that lasts some seconds and leaves nothing behind.
#pragma once

#include "job/choose/choice.h"
#include "job/train/train_flags.h"

namespace evener::job {

/// Gives the options that the candidate stands for to those of `flags` that were not given.
void take_candidate(const Candidate& candidate, TrainFlags& flags);

/// Trains the candidate for about `seconds` after its images are read (and, with weights of other classes, its last
/// layer is fitted), in a process of its own that leaves `flags` as they are. What fails is told in the result. Throws
/// Interrupted.
CandidateTrial try_out(const TrainFlags& flags, const Candidate& candidate, double seconds);

}  // namespace evener::job
