// What quantisation-aware training begins with: a trained network, with the scales that calibration gives it.
#pragma once

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "network/network.h"
#include "network/passes/quantize.h"

namespace evener::task {

/// How `network` (as the zoo builds it) is quantised for weights of so many bits.
network::QuantizationScheme scheme_for(const network::Network& network, int weight_bits);

/// The parameters of scheme_for's network: those of `state`, folded, and scales of ranges that some hundred of
/// `samples` reach. The engine that looks at them works in a child process, with so many threads: this one can fork its
/// ranks afterwards. Throws Error where a layer gives values that are not finite.
TensorMap calibrated_state(const network::Network& network, const TensorMap& state, int weight_bits,
                           const data::ChannelStatistics& normalization, const data::Samples& samples, int threads);

}  // namespace evener::task
