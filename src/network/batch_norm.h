// What a network's batch-norm layers require of training batches.
#pragma once

#include "network/network.h"

namespace evener::network {

/// Whether some layer's outputs in training depend on which samples are computed together.
bool has_batch_norm(const Network& network);

/// The first batch-norm layer that takes statistics in training and has one value of each channel per sample, so that a
/// single sample has no variance; null if there is none.
const Layer* norm_of_one_value(const Network& network);

}  // namespace evener::network
