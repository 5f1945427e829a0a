// Chooses the network of `evener train` where none is named, or "auto", before the training begins.
#pragma once

#include <filesystem>

#include "base/this_work.h"
#include "job/choose/choice.h"
#include "job/train/train_flags.h"
#include "job/train/training.h"
#include "task/training/train.h"

namespace evener::job {

/// Sets those options of the candidate in `flags` that the user didn't give.
void take_candidate(const Candidate& candidate, TrainFlags& flags);

/// The options of a trial: so many epochs that only the time limit ends it, a constant learning rate, and no early
/// stopping.
task::TrainOptions options_of_trial(const TrainFlags& flags, const std::filesystem::path& folder);

/// Turns the result of a trial's training into a CandidateTrial. The seconds of an epoch with its validation are those
/// of the last epoch, extrapolated if the time limit cut it short. Throws Error for a training that diverged,
/// Interrupted for one that was interrupted.
CandidateTrial trial_of(const task::TrainResult& result);

/// The name that asks for a network to be chosen, as an empty name does.
inline constexpr const char* kAutomatic = "auto";

/// Whether the network is to be chosen.
bool is_automatic(const TrainFlags& flags);

/// To be called before --weights is looked up as a name and options are completed. Looks at the kind of the data
/// without decoding it, and sets the network: that of --weights, or where there are none, one whose published weights
/// were downloaded before. Does nothing where a network is named. Throws UsageError, Error.
void choose_by_weights(TrainFlags& flags);

/// To be called after options are completed. Tries networks, or sizes of images, for a share of --minutes, tells
/// `observer` of it, and sets the options of the best. With --dry-run it tries none. Does nothing where a network was
/// named.
void choose_by_trying(TrainFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// The facts for the choice: about the data, without decoding it, the options, the time that is left and this machine.
ChoiceFacts facts_of(const TrainFlags& flags);

/// How many of `seconds`, the time for everything, go to all trials together.
double seconds_for_trials(double seconds);

}  // namespace evener::job
