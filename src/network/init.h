// Initial values of parameters, keyed by (seed, parameter name): the same on every engine and placement.
#pragma once

#include <cstdint>
#include <string>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::network {

/// The initial value of a parameter: float32 for all but num_batches_tracked (int64). Computed in double from random =
/// Random(seed, Purpose::kInit, hash_text(parameter.name)), element after element in row-major order:
///   kUniformFanIn    element i = (2 u - 1) / sqrt(fan), u = random.uniform()
///   kHeNormalFanOut  elements 2k and 2k + 1 = sqrt(2 / fan) * r * cos(t) and sin(t) (Box-Muller), where
///                    r = sqrt(-2 ln(1 - u)), t = 2 pi v; u, then v from random.uniform()
///   kNormal          the same with Parameter::deviation in place of sqrt(2 / fan)
HostTensor initial_value(const Parameter& parameter, std::uint64_t seed);
TensorMap initial_state(const Network& network, std::uint64_t seed);

/// The index of the first NaN or infinity in a float32 tensor; -1 = there is none.
std::int64_t first_not_finite(const HostTensor& tensor);

/// Throws Error listing the tensors that are missing, extra, of another shape or of another type, or that hold NaN or
/// infinity; `source` (a file) is named in the message.
void check_state(const Network& network, const TensorMap& state, const std::string& source);

/// Weights from elsewhere, made to fit a network.
struct FittedState {
  TensorMap state;
  // Names of the tensors that have initial values, because the file was trained for other classes: those of the last
  // layers with parameters before the outputs.
  std::vector<std::string> new_head;
  std::int64_t file_outputs = 0;  // HeadOutputs::of_file
  std::size_t new_counters = 0;   // num_batches_tracked, which older PyTorch did not have: they begin at 0
  std::size_t converted = 0;      // tensors that were converted to float32
};

/// The outputs of the network's head and of the file's: the first extent of the parameters of the first layer with
/// parameters that feeds an output; for a detector the number of classes, without the background. 0 = unknown.
struct HeadOutputs {
  std::int64_t of_network = 0, of_file = 0;
};
HeadOutputs head_outputs(const Network& network, const TensorMap& given);

/// Converts `given` to a state that passes check_state(), and throws its errors otherwise. `seed`: for the initial
/// values of a new head.
FittedState fit_state(const Network& network, TensorMap given, const std::string& source, std::uint64_t seed);

}  // namespace evener::network
