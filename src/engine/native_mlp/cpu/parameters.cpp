#include "engine/native_mlp/cpu/parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "base/error.h"

namespace evener::engine::native_mlp {
namespace {

/// The kernels' function for an activation; nothing where they have none.
std::optional<Function> function_of(network::ActivationKind kind) {
  static const std::map<network::ActivationKind, Function> functions = {
      {network::ActivationKind::kRelu, Function::kRelu},
      {network::ActivationKind::kRelu6, Function::kRelu6},
      {network::ActivationKind::kSigmoid, Function::kSigmoid},
      {network::ActivationKind::kTanh, Function::kTanh}};
  const auto found = functions.find(kind);
  return found != functions.end() ? std::optional(found->second) : std::nullopt;
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

constexpr std::size_t kAlignment = 64;  // values; more than a cache line, so that each begins with one

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

Parameters::Parameters(const network::Network& network, const std::vector<Dense>& layers, Layout layout)
    : layout_(layout) {
  for (const auto& parameter : network.parameters()) {
    Entry entry{parameter.name, parameter.shape, 0, 0, parameter.trained};
    entry.size = static_cast<std::size_t>(element_count(parameter.shape));
    entries_.push_back(std::move(entry));
  }
  if (layout == Layout::kPanels) {
    for (const Dense& layer : layers) {
      entries_[layer.weight_parameter].size = static_cast<std::size_t>(layer.columns() * layer.inputs);
      if (layer.bias) entries_[layer.bias_parameter].size = static_cast<std::size_t>(layer.columns());
    }
  }
  for (Entry& entry : entries_) {
    entry.offset = size_;
    size_ += (entry.size + kAlignment - 1) / kAlignment * kAlignment;
  }
}

/// The index of a weight in an array.
std::int64_t Parameters::place_of(const Entry& entry, std::int64_t output, std::int64_t input) const {
  const std::int64_t outputs = entry.shape.front();
  const std::int64_t inputs = entry.shape.size() == 2 ? entry.shape.back() : 1;
  const auto first = static_cast<std::int64_t>(entry.offset);
  if (layout_ == Layout::kRowMajor) return first + output * inputs + input;
  if (layout_ == Layout::kColumnMajor) return first + input * outputs + output;
  const std::int64_t columns = static_cast<std::int64_t>(entry.size) / std::max<std::int64_t>(inputs, 1);
  const std::int64_t panel = output / kPanel * kPanel, width = std::min(kPanel, columns - panel);
  return first + panel * inputs + input * width + output - panel;
}

/// Calls visit(index in the array, index in the row-major tensor) for each value.
template <class Visit>
void Parameters::for_each(const Entry& entry, Visit visit) const {
  const std::int64_t inputs = entry.shape.size() == 2 ? entry.shape.back() : 1;
  for (std::int64_t o = 0; o < entry.shape.front(); ++o) {
    for (std::int64_t i = 0; i < inputs; ++i) {
      visit(static_cast<std::size_t>(place_of(entry, o, i)), o * inputs + i);
    }
  }
}

void Parameters::copy(std::size_t index, const Array& from, const Parameters& there, const Array& to) const {
  const Entry &here_entry = entries_[index], &there_entry = there.entries_[index];
  const std::int64_t inputs = here_entry.shape.size() == 2 ? here_entry.shape.back() : 1;
  for (std::int64_t i = 0; i < inputs; ++i) {  // outputs follow each other in all layouts but one
    for (std::int64_t o = 0; o < here_entry.shape.front(); ++o) {
      to.data()[there.place_of(there_entry, o, i)] = from.data()[place_of(here_entry, o, i)];
    }
  }
}

void Parameters::read(const Array& array, const std::string& suffix, bool all, TensorMap& to) const {
  for (const Entry& entry : entries_) {
    if (!all && !entry.trained) continue;
    HostTensor tensor;
    tensor.shape = entry.shape;
    tensor.bytes.resize(static_cast<std::size_t>(element_count(entry.shape)) * sizeof(float));
    for_each(entry,
             [&](std::size_t place, std::int64_t row_major) { tensor.floats()[row_major] = array.data()[place]; });
    to.insert_or_assign(entry.name + suffix, std::move(tensor));
  }
}

void Parameters::write(const TensorMap& from, const std::string& suffix, bool all, const char* what,
                       const Array& array) const {
  for (const Entry& entry : entries_) {
    if (!all && !entry.trained) continue;
    const auto found = from.find(entry.name + suffix);
    if (found == from.end()) throw Error(std::string(what) + " no '" + entry.name + suffix + "'");
    if (found->second.shape != entry.shape) {
      throw Error("tensor '" + found->first + "' is " + shape_text(found->second.shape) + ", the network needs " +
                  shape_text(entry.shape));
    }
    const HostTensor tensor = found->second.to_floats();
    for_each(entry,
             [&](std::size_t place, std::int64_t row_major) { array.data()[place] = tensor.floats()[row_major]; });
  }
}

}  // namespace evener::engine::native_mlp
