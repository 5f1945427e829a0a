// Chooses the network of `evener train` where none is named, or "auto", before the training begins.
#pragma once

#include "base/this_work.h"
#include "job/choose/candidates.h"
#include "job/train/training.h"

namespace evener::job {

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
