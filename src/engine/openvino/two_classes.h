// Graphs with one output value that tells two classes apart.
#pragma once

#include <cstddef>
#include <openvino/core/model.hpp>

#include "engine/openvino/whole_numbers.h"

namespace evener::engine::openvino_engine {

/// Replaces an output's one value per sample by two: a probability p by 1 - p and p, a score z by 0 and z, whose
/// softmax is the sigmoid of z. The value is a probability if a sigmoid computes it, or if `is_probability`. `meaning`:
/// the map from the output's numbers to values.
void give_two_classes(ov::Model& graph, std::size_t output, LinearMap meaning, bool is_probability);

}  // namespace evener::engine::openvino_engine
