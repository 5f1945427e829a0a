// The layers of a network as the nodes of an ONNX graph.
#pragma once

#include <onnx/onnx_pb.h>

#include "network/onnx_file.h"

namespace evener::network::onnx_module {

/// The version of ONNX's operators that the graphs are made of: the first that has HardSwish, so that readers of the
/// year 2021 and later take the files.
inline constexpr int kOperatorSet = 14;

/// Fills in `graph`: nodes, weights, inputs, outputs, and the shape of every value.
void write_graph(const Network& network, const TensorMap& state, const OnnxOptions& options, onnx::GraphProto& graph);

}  // namespace evener::network::onnx_module
