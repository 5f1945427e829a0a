// Quantised weights in files: a byte each, whole numbers of the steps that stand beside them.
#pragma once

#include "base/tensor.h"
#include "network/network.h"
#include "network/passes/quantize.h"

namespace evener::task {

/// `state` with the weights that `network` quantises as int8.
TensorMap packed(const network::Network& network, TensorMap state);

/// Makes float32 of int8 tensors "X.weight" by the scales "X.weight_scale". Others stay as they are. Throws Error for
/// scales that don't fit.
void unpack(TensorMap& state);

/// The network that `scheme` makes of one as the zoo builds it: without the batch-norms that can be folded. An empty
/// scheme leaves it as it is.
network::Network quantized_network(const network::Network& network, const network::QuantizationScheme& scheme);

}  // namespace evener::task
