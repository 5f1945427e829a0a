// Quantised weights in files: int8 values, with the scales beside them.
#pragma once

#include "base/tensor.h"
#include "network/network.h"
#include "network/passes/quantize.h"

namespace evener::task {

/// Converts those weights in `state` that `network` quantises to int8.
TensorMap packed(const network::Network& network, TensorMap state);

/// Converts int8 tensors "X.weight" to float32 by the scales "X.weight_scale". Other tensors stay as they are. Throws
/// Error for scales that don't fit.
void unpack(TensorMap& state);

/// The network that is quantised by `scheme`, with batch-norms folded where possible, from one as the zoo builds it. An
/// empty scheme returns the network as it is.
network::Network quantized_network(const network::Network& network, const network::QuantizationScheme& scheme);

}  // namespace evener::task
