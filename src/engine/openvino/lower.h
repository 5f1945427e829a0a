// A Network with its weights as OpenVINO's graph.
#pragma once

#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::engine::openvino_engine {

/// Behind the name of a layer with a bias: the node without it. The layer itself has the layer's name.
constexpr const char* kProductSuffix = "/product";

/// The graph of `network` for float32 images (batch, C, H, W), called "images"; its results bear the names of the
/// network's outputs. Batch-norms that are left compute with their running statistics, dropouts nothing. The graph
/// keeps `state`, whose float32 weights it reads where they are. `any_size`: batch, H and W are open, which layers that
/// need to know them refuse. Throws Error for a tensor that `state` lacks or that has another shape.
std::shared_ptr<ov::Model> lower(const network::Network& network, std::shared_ptr<const TensorMap> state,
                                 std::int64_t batch, bool any_size = false);

}  // namespace evener::engine::openvino_engine
