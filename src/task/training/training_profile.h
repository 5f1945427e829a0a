// How long each layer takes in the steps of a training.
#pragma once

#include "task/inference/layer_profile.h"
#include "task/training/train.h"

namespace evener::task {

/// Times steps of a trainer of its own on the first replica's device, on noise as images and as many of them as that
/// replica has of a batch. The trained weights stay as they are. Throws Error, and Interrupted between two passes.
NetworkProfile profile_training(const TrainSetup& setup, const TrainOptions& options);

}  // namespace evener::task
