// evener train without a network's name, or with "auto": what is found out before the training begins.
#pragma once

#include "base/this_work.h"
#include "job/choose/candidates.h"
#include "job/train/training.h"

namespace evener::job {

/// The word for a network that is to be chosen; no word means the same.
inline constexpr const char* kAutomatic = "auto";

/// Whether the network is to be chosen.
bool is_automatic(const TrainFlags& flags);

/// Before --weights is taken as a name and options are completed: looks at what kind of data it is, without decoding
/// it. With weights the network is that of the weights; without, published ones are taken where they were downloaded
/// before. Nothing where a network is named. Throws UsageError, Error.
void choose_by_weights(TrainFlags& flags);

/// After options are completed: tries networks, or sizes of images, for a share of --minutes, tells `observer` of it,
/// and gives the options of the best. With --dry-run it tries none. Nothing where a network was named.
void choose_by_trying(TrainFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// What the choice goes by: the data, without decoding it, what was asked for, the time that is left and this machine.
ChoiceFacts facts_of(const TrainFlags& flags);

/// Of the seconds that there are, those for all trials together.
double seconds_for_trials(double seconds);

}  // namespace evener::job
