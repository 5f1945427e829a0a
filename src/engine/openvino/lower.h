// Converts a Network with its weights to OpenVINO's graph (lower.cpp), and the graph of a file to a Network
// (describe.cpp).
#pragma once

#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "base/tensor.h"
#include "engine/model_file.h"
#include "network/network.h"

namespace evener::engine::openvino_engine {

/// The suffix of the node's name that computes a layer before its bias is added; the sum has the layer's own name.
constexpr const char* kProductSuffix = "/product";

/// The graph of `network` for float32 images (batch, C, H, W), called "images"; its results bear the names of the
/// network's outputs. Batch-norms use their running statistics, dropouts do nothing. The graph keeps `state` alive and
/// reads its float32 weights in place. `any_size`: batch, H and W are left open; throws Error for layers that need to
/// know them. Throws Error for a tensor that `state` lacks or that has another shape.
std::shared_ptr<ov::Model> lower(const network::Network& network, std::shared_ptr<const TensorMap> state,
                                 std::int64_t batch, bool any_size = false);

/// See ModelFile::describe. `graph`: with a batch of 1 and all extents known. `outputs`: names of its results.
DescribedNetwork describe(const std::shared_ptr<ov::Model>& graph, const std::string& name, const ModelInput& input,
                          const std::vector<std::string>& outputs);

}  // namespace evener::engine::openvino_engine
