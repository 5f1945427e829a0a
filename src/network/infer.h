// Inside network/: infers a layer's output shape and its parameters. Used by Network::add alone.
#pragma once

#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// Output shape of `layer` (its name and op) fed with `inputs`. Throws Error naming `model`, the layer, the shape that
/// it needs and the one that it got.
Shape infer_shape(const std::string& model, const Layer& layer, const std::vector<Shape>& inputs);

/// The parameters and buffers of `layer` in state-dict order; `index` is the layer's index in the network, `input` the
/// shape of its first input.
std::vector<Parameter> layer_parameters(const Layer& layer, int index, const Shape& input);

}  // namespace evener::network
