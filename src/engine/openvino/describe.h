// Converts OpenVINO's graph of a file to a Network of ours: the inverse of lower.h.
#pragma once

#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "engine/model_file.h"

namespace evener::engine::openvino_engine {

/// See ModelFile::describe. `graph`: with a batch of 1 and all extents known. `outputs`: names of its results.
DescribedNetwork describe(const std::shared_ptr<ov::Model>& graph, const std::string& name, const ModelInput& input,
                          const std::vector<std::string>& outputs);

}  // namespace evener::engine::openvino_engine
