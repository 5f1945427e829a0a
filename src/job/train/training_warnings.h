// Finds problems of a training or its data by its figures.
#pragma once

#include <string>
#include <vector>

#include "job/train/train_flags.h"
#include "record/record.h"
#include "task/training/train.h"

namespace evener::job {

/// A sentence for each warning about a training, with the figures that it rests on and what to do: a loss that rises,
/// validation no better than always the largest class, a detector that finds the same box in blank images, training far
/// above validation, test far from validation, classes of few images or out of balance, images that are both in
/// training and in validation or test. Empty where there is none.
std::vector<std::string> training_warnings(const task::TrainSetup& setup, const task::TrainResult& result);

/// A sentence for each option that was given and has no effect with this plan, engine, network and data.
std::vector<std::string> ignored_options(const TrainFlags& flags, const task::TrainOptions& options,
                                         const task::TrainSetup& setup);

}  // namespace evener::job
