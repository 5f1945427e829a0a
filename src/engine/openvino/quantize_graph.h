// Quantises a graph of OpenVINO: the inputs of convolutions and matrix products with constant weights, and these
// weights, are rounded to levels (FakeQuantize), which OpenVINO's plugins compute in int8.
#pragma once

#include <map>
#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "engine/quantizable_file.h"

namespace evener::engine::openvino_engine {

/// The layers that can be quantised, by name, in the order of computation.
std::vector<std::string> quantizable_layers(const ov::Model& graph);

/// Replaces the outputs by (1, 2), the least and the most, of each value that such a layer reads. Returns their names.
std::vector<std::string> give_extents(ov::Model& graph);

/// Rounds inputs and weights of all layers but those that are kept. Weights have a symmetric range for each of their
/// outputs, values one for all, in which 0 is a level. Throws Error where the extent of a value is missing.
void quantize(ov::Model& graph, const FileQuantization& how);

}  // namespace evener::engine::openvino_engine
