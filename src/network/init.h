// First values of parameters, keyed by (seed, parameter name): the same on every engine and placement.
#pragma once

#include <cstdint>
#include <string>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::network {

/// float32 for all but num_batches_tracked (int64). Computed in double from
/// random = Random(seed, Purpose::kInit, hash_text(parameter.name)), element after element in row-major order:
///   kUniformFanIn    element i = (2 u - 1) / sqrt(fan), u = random.uniform()
///   kHeNormalFanOut  elements 2k and 2k + 1 = sqrt(2 / fan) * r * cos(t) and sin(t) (Box-Muller), where
///                    r = sqrt(-2 ln(1 - u)), t = 2 pi v; u, then v from random.uniform()
HostTensor initial_value(const Parameter& parameter, std::uint64_t seed);
TensorMap initial_state(const Network& network, std::uint64_t seed);

/// Throws Error listing the tensors that are missing, extra, of another shape or of another type; `source` (a file) is
/// named in the message.
void check_state(const Network& network, const TensorMap& state, const std::string& source);

}  // namespace evener::network
