// Graphs that tell two classes apart by one value.
#pragma once

#include <cstddef>
#include <openvino/core/model.hpp>

#include "engine/openvino/whole_numbers.h"

namespace evener::engine::openvino_engine {

/// Makes of the one value that an output gives of each sample two: 1 - p and p of a probability, 0 and z of a score,
/// whose softmax is the sigmoid of z. A probability is what a sigmoid made, or what `is_probability` says. `meaning`:
/// of the numbers that the output gives.
void give_two_classes(ov::Model& graph, std::size_t output, LinearMap meaning, bool is_probability);

}  // namespace evener::engine::openvino_engine
