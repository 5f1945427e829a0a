// Runs of training on replicas that are threads of the test's own process.
#pragma once

#include "placement/plan.h"
#include "train/steps/train.h"

namespace evener::test {

/// So many CPU replicas of one thread each, with equal shares of each batch.
placement::Plan cpu_replicas(int count);

/// Does what `options` say, and tells `observer`. Rank 0's result.
training::TrainResult train(const training::TrainOptions& options, training::TrainObserver& observer);
training::TrainResult train(const training::TrainOptions& options);

}  // namespace evener::test
