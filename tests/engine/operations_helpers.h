// Small networks of the operations that no classifier of the first golden files has.
#pragma once

#include "network/network.h"

namespace evener::test {

/// Windows that are no squares, strides and paddings that differ along both sides, pooling that rounds up, PReLU.
network::Network windows_network(const network::Shape& input, std::int64_t classes);
/// Concatenation, squeeze and excitation, products, a branch that is dropped for some samples.
network::Network branches_network(const network::Shape& input, std::int64_t classes);

}  // namespace evener::test
