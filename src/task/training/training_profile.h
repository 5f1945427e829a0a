// What each layer takes in the steps of a training.
#pragma once

#include "task/inference/layer_profile.h"
#include "task/training/train.h"

namespace evener::task {

/// Steps of a trainer on the first replica's device with that replica's part of a batch, of images that are noise:
/// nothing is learnt from them, and what was learnt stays. Throws Error, and Interrupted between two passes.
NetworkProfile profile_training(const TrainSetup& setup, const TrainOptions& options);

}  // namespace evener::task
