// Lists the operations of a graph, for people.
#pragma once

#include <openvino/core/model.hpp>
#include <vector>

#include "engine/model_file.h"

namespace evener::engine::openvino_engine {

/// In the order of computation, without constants, inputs and results.
std::vector<ModelLayer> layers_of(const ov::Model& graph);

std::vector<std::int64_t> extents_of(const ov::PartialShape& shape);

}  // namespace evener::engine::openvino_engine
