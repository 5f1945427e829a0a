// Folds batch-norms into the convolutions before them, for running a trained network.
#pragma once

#include "base/tensor.h"
#include "network/network.h"

namespace evener::network {

struct NetworkWithState {
  Network network;
  TensorMap state;
};

/// The same function with fewer layers: where a batch-norm alone reads a convolution that is no output,
///   w' = w g / sqrt(v + e),  b' = (b - m) g / sqrt(v + e) + beta
/// with the running mean m and variance v, computed in double. The convolution has a bias then, and the batch-norm's
/// name; its weight learns as the convolution's did, its bias as the batch-norm's. Other batch-norms stay. Throws Error
/// for a tensor that `state` lacks.
NetworkWithState fold_batch_norm(const Network& network, const TensorMap& state);
/// The folded network without a state.
Network fold_batch_norm(const Network& network);

}  // namespace evener::network
