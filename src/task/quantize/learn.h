// The start of quantisation-aware training: a trained network with the scales that calibration finds.
#pragma once

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "network/network.h"
#include "network/passes/quantize.h"

namespace evener::task {

/// The scheme by which `network` (as the zoo builds it) is quantised with weights of `weight_bits` bits.
network::QuantizationScheme scheme_for(const network::Network& network, int weight_bits);

/// The parameters of the network that scheme_for() gives: those of `state` with batch-norms folded, and scales of the
/// ranges that activations reach on some hundred of `samples`. The engine runs in a child process, with `threads`
/// threads, so that this process can still fork its ranks. Throws Error where a layer gives values that are not finite.
TensorMap calibrated_state(const network::Network& network, const TensorMap& state, int weight_bits,
                           const data::ChannelStatistics& normalization, const data::Samples& samples, int threads);

}  // namespace evener::task
