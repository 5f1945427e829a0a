#include "task/inference/packed_weights.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "network/passes/fold_batch_norm.h"
#include "network/quantization.h"

namespace evener::task {
namespace {

int weight_bits(const network::Op& op) {
  if (const auto* conv = std::get_if<network::Conv2d>(&op)) return conv->weight_bits;
  const auto* linear = std::get_if<network::Linear>(&op);
  return linear == nullptr ? 0 : linear->weight_bits;
}

}  // namespace

TensorMap packed(const network::Network& network, TensorMap state) {
  for (const network::Layer& layer : network.layers()) {
    const int bits = weight_bits(layer.op);
    if (bits == 0) continue;
    HostTensor& weight = state.at(layer.name + ".weight");
    weight = network::quantized_weights(weight, state.at(layer.name + ".weight_scale"), bits);
  }
  return state;
}

void unpack(TensorMap& state) {
  for (auto& [name, tensor] : state) {
    if (tensor.dtype != DType::kI8) continue;
    const auto scale = state.find(name + "_scale");
    if (scale == state.end()) throw Error("the int8 tensor '" + name + "' has no scales '" + name + "_scale'");
    tensor = network::dequantized_weights(tensor, scale->second);
  }
}

network::Network quantized_network(const network::Network& network, const network::QuantizationScheme& scheme) {
  return scheme.empty() ? network : network::with_quantization(network::fold_batch_norm(network), scheme);
}

}  // namespace evener::task
