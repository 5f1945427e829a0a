// The nodes that compute a layer: the one place that says how ONNX has each kind.
#pragma once

#include <string>

#include "network/network.h"
#include "network/onnx/graph_builder.h"

namespace evener::network::onnx_module {

/// A layer and the values around it.
struct LayerToWrite {
  const Layer& layer;
  const Shape& input_shape;  // of its first input
  Values inputs;
  Values parameters;  // its weights, in the order in which ONNX takes them
  std::string value;  // what it computes is to be called so
};

void add_layer(const LayerToWrite& layer, GraphBuilder& graph);

}  // namespace evener::network::onnx_module
