// A multilayer perceptron as this engine sees it: one dense layer after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/native_mlp/cpu/kernels.h"
#include "network/network.h"

namespace evener::engine::native_mlp {

/// y = function(x W^T + b).
struct Dense {
  std::int64_t inputs = 0, outputs = 0;
  bool bias = true;
  Function function = Function::kIdentity;
  std::size_t weight_parameter = 0, bias_parameter = 0;  // indices into Network::parameters()

  std::int64_t columns() const { return (outputs + kColumns - 1) / kColumns * kColumns; }
};

/// Why a network is no perceptron that this engine can compute; "" if it is one.
std::string why_no_mlp(const network::Network& network);

/// The dense layers of a network for which why_no_mlp() is empty.
std::vector<Dense> dense_layers(const network::Network& network);

}  // namespace evener::engine::native_mlp
