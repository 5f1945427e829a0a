#include "engine/native_mlp/cpu/layers.h"

#include <optional>
#include <variant>

namespace evener::engine::native_mlp {
namespace {

/// The kernels' function for an activation; nothing where they have none.
std::optional<Function> function_of(network::ActivationKind kind) {
  switch (kind) {
    case network::ActivationKind::kRelu:
      return Function::kRelu;
    case network::ActivationKind::kRelu6:
      return Function::kRelu6;
    case network::ActivationKind::kSigmoid:
      return Function::kSigmoid;
    case network::ActivationKind::kTanh:
      return Function::kTanh;
    case network::ActivationKind::kSilu:
    case network::ActivationKind::kHardSwish:
    case network::ActivationKind::kHardSigmoid:
      break;
  }
  return std::nullopt;
}

/// Whether layer `index` is allowed where it is in a perceptron: flatten, then linear layers with activations between
/// them.
bool fits(const network::Network& network, std::size_t index) {
  const auto& layers = network.layers();
  const auto& layer = layers[index];
  if (index == 0) return true;
  if (layer.inputs != std::vector<int>{static_cast<int>(index) - 1}) return false;
  const auto& before = layers[index - 1].op;
  if (std::holds_alternative<network::Flatten>(layer.op)) return index == 1;
  if (std::holds_alternative<network::Linear>(layer.op)) return layers[index - 1].shape.size() == 1;
  const auto* activation = std::get_if<network::Activation>(&layer.op);
  return activation != nullptr && function_of(activation->kind) && index + 1 < layers.size() &&
         std::holds_alternative<network::Linear>(before);
}

}  // namespace

std::string why_no_mlp(const network::Network& network) {
  const auto& layers = network.layers();
  constexpr const char* kScope =
      "; the native engine computes multilayer perceptrons only (linear layers with activations between them)";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (fits(network, i)) continue;
    return "'" + network.model() + "' has the layer '" + layers[i].name + "' (" + network::op_name(layers[i].op) +
           ") in place " + std::to_string(i) + kScope;
  }
  const auto& outputs = network.outputs();
  if (outputs.size() > 1 || outputs.front().layer + 1 != static_cast<int>(layers.size())) {
    return "'" + network.model() + "' puts out " + network::outputs_text(network) + ", not its last layer alone" +
           kScope;
  }
  if (std::holds_alternative<network::Linear>(layers.back().op)) return {};
  return "'" + network.model() + "' does not end in a linear layer" + kScope;
}

std::vector<Dense> dense_layers(const network::Network& network) {
  std::vector<Dense> dense;
  const auto& layers = network.layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (const auto* activation = std::get_if<network::Activation>(&layers[i].op)) {
      dense.back().function = function_of(activation->kind).value();
    }
    const auto* linear = std::get_if<network::Linear>(&layers[i].op);
    if (linear == nullptr) continue;
    Dense layer;
    layer.inputs = layers[i - 1].shape.front();
    layer.outputs = linear->out_features;
    layer.bias = linear->bias;
    const auto& parameters = network.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].layer != static_cast<int>(i)) continue;
      (parameters[p].shape.size() == 2 ? layer.weight_parameter : layer.bias_parameter) = p;
    }
    dense.push_back(layer);
  }
  return dense;
}

}  // namespace evener::engine::native_mlp
