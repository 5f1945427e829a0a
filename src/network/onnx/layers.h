// The ONNX nodes that compute a layer, for each kind of layer.
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
  Values parameters;  // names of its weights, in the order of the ONNX operator's inputs
  std::string value;  // the name that its result is to have
};

void add_layer(const LayerToWrite& layer, GraphBuilder& graph);

}  // namespace evener::network::onnx_module
