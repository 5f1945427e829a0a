// Warns of options that were given but have no effect in a run, lest the user think that they had.
#pragma once

#include <string>
#include <vector>

#include "job/train/train_flags.h"
#include "task/training/train.h"

namespace evener::job {

/// A sentence for each option that was given and has no effect with this plan, engine, network and data.
std::vector<std::string> ignored_options(const TrainFlags& flags, const task::TrainOptions& options,
                                         const task::TrainSetup& setup);

}  // namespace evener::job
