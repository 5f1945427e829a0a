#include "network/passes/quantize.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace evener::network {
namespace {

using Layers = std::vector<Layer>;

const Layer& at(const Layers& layers, int index) {
  return layers[static_cast<std::size_t>(index)];
}

bool has_weights(const Op& op) {
  return is_one_of<Conv2d, Linear>(op);
}

/// Whether a layer only moves or selects values, so that quantised inputs give quantised results.
bool moves_values(const Op& op) {
  return is_one_of<MaxPool, Flatten, Concat, SubsamplePad, Pad, Dropout, StochasticDepth>(op);
}

/// Whether a layer without weights computes with quantised inputs.
bool takes_quantized(const Op& op) {
  return is_one_of<Add, GlobalAveragePool, AveragePool>(op);
}

/// For each layer, whether its result can't be negative.
std::vector<bool> not_negative(const Layers& layers) {
  std::vector<bool> found(layers.size());
  for (std::size_t i = 1; i < layers.size(); ++i) {
    const Op& op = layers[i].op;
    if (const auto* activation = std::get_if<Activation>(&op)) {
      found[i] = activation->kind == ActivationKind::kRelu || activation->kind == ActivationKind::kRelu6 ||
                 activation->kind == ActivationKind::kSigmoid || activation->kind == ActivationKind::kHardSigmoid;
      continue;
    }
    const auto* scale = std::get_if<Scale>(&op);
    const bool keeps_signs = moves_values(op) || takes_quantized(op) || std::holds_alternative<Multiply>(op) ||
                             (scale != nullptr && scale->factor >= 0);
    found[i] = keeps_signs &&
               std::ranges::all_of(layers[i].inputs, [&](int input) { return found[static_cast<std::size_t>(input)]; });
  }
  return found;
}

/// Collects the layers that compute the values of `layer`, passing over layers that only move them.
void collect_sources(const Layers& layers, int layer, std::set<int>& sources) {
  if (!moves_values(at(layers, layer).op)) {
    sources.insert(layer);
    return;
  }
  for (const int input : at(layers, layer).inputs) collect_sources(layers, input, sources);
}

/// The sources of each concatenation whose result is to be quantised; concatenations with a common source are merged.
std::vector<std::set<int>> concatenated(const Layers& layers, const std::vector<bool>& wanted) {
  std::vector<std::set<int>> groups;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!wanted[i] || !std::holds_alternative<Concat>(layers[i].op)) continue;
    std::set<int> group;
    collect_sources(layers, static_cast<int>(i), group);
    const auto joined = std::partition(groups.begin(), groups.end(), [&](const std::set<int>& other) {
      return std::ranges::none_of(other, [&](int source) { return group.contains(source); });
    });
    for (auto other = joined; other != groups.end(); ++other) group.insert(other->begin(), other->end());
    groups.erase(joined, groups.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

/// The term of a sum that a convolution's kernel computes together with the sum, so that it is never rounded: the last
/// convolution that nothing else reads. -1: there is none.
int fused_term(const Layers& layers, const Layer& sum, const std::vector<int>& read_by) {
  int fused = -1;
  for (const int input : sum.inputs) {
    const bool is_alone = read_by[static_cast<std::size_t>(input)] == 1;
    if (is_alone && std::holds_alternative<Conv2d>(at(layers, input).op)) fused = std::max(fused, input);
  }
  return fused;
}

/// Marks the layers whose results are to be quantised: those that a computing layer reads, directly or through layers
/// that only move values.
std::vector<bool> wanted_quantized(const Network& network, const std::map<std::string, int>& weight_bits) {
  const Layers& layers = network.layers();
  std::vector<bool> wanted(layers.size());
  const std::vector<int> read_by = network.readers();
  for (std::size_t i = layers.size(); i-- > 1;) {
    const Layer& layer = layers[i];
    const bool computes = has_weights(layer.op) ? weight_bits.contains(layer.name) : takes_quantized(layer.op);
    if (!computes && !(moves_values(layer.op) && wanted[i])) continue;
    const int fused = std::holds_alternative<Add>(layer.op) ? fused_term(layers, layer, read_by) : -1;
    for (const int input : layer.inputs) {
      if (input != fused) wanted[static_cast<std::size_t>(input)] = true;
    }
  }
  return wanted;
}

}  // namespace

QuantizationScheme choose_quantization(const Network& folded, int weight_bits, const std::set<std::string>& kept) {
  const Layers& layers = folded.layers();
  QuantizationScheme scheme;
  for (const Layer& layer : layers) {
    if (has_weights(layer.op) && !kept.contains(layer.name)) scheme.weight_bits.emplace(layer.name, weight_bits);
  }
  if (scheme.weight_bits.empty()) return scheme;
  const std::vector<bool> wanted = wanted_quantized(folded, scheme.weight_bits);
  const std::vector<bool> positive = not_negative(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (wanted[i] && !moves_values(layers[i].op)) scheme.activations.emplace(layers[i].name, !positive[i]);
  }
  for (const std::set<int>& group : concatenated(layers, wanted)) {
    const bool is_signed =
        std::ranges::any_of(group, [&](int source) { return !positive[static_cast<std::size_t>(source)]; });
    for (const int source : group) scheme.activations[at(layers, source).name] = is_signed;
  }
  return scheme;
}

std::string quantizer_name(const std::string& name) {
  return name + ".quantized";
}

Network with_quantization(const Network& folded, const QuantizationScheme& scheme) {
  const Layers& layers = folded.layers();
  Network network(folded.model(), folded.input_shape());
  // Indices of each layer's original and quantised result in the new network.
  std::vector<int> plain(layers.size()), quantized(layers.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const auto bits = scheme.weight_bits.find(layer.name);
    const bool quantizes = bits != scheme.weight_bits.end();
    if (i > 0) {
      Op op = layer.op;
      if (quantizes && !has_weights(op)) {
        throw Error(folded.model() + ": the layer '" + layer.name + "' has no weights that could be quantised");
      }
      if (auto* conv = std::get_if<Conv2d>(&op); conv != nullptr && quantizes) conv->weight_bits = bits->second;
      if (auto* linear = std::get_if<Linear>(&op); linear != nullptr && quantizes) linear->weight_bits = bits->second;
      const std::vector<int>& places = has_weights(op) && !quantizes ? plain : quantized;
      std::vector<int> inputs;
      for (const int input : layer.inputs) inputs.push_back(places[static_cast<std::size_t>(input)]);
      plain[i] = network.add(layer.name, std::move(op), std::move(inputs));
    }
    found += quantizes ? 1 : 0;
    quantized[i] = plain[i];
    const auto activation = scheme.activations.find(layer.name);
    if (activation == scheme.activations.end()) continue;
    quantized[i] = network.add(quantizer_name(layer.name), FakeQuantize{activation->second}, {plain[i]});
    ++found;
  }
  if (found != scheme.weight_bits.size() + scheme.activations.size()) {
    throw Error(folded.model() + " has not all the layers that are said to be quantised");
  }
  network.learn_as(folded);
  for (const Output& output : folded.outputs()) {
    network.set_output(output.name, plain[static_cast<std::size_t>(output.layer)]);
  }
  if (!folded.anchors().empty()) network.set_anchors(folded.anchors());
  return network;
}

std::vector<std::set<std::string>> shared_scales(const Network& folded, const QuantizationScheme& scheme) {
  const Layers& layers = folded.layers();
  std::vector<std::set<std::string>> named;
  for (const std::set<int>& group : concatenated(layers, wanted_quantized(folded, scheme.weight_bits))) {
    std::set<std::string> names;
    for (const int source : group) names.insert(at(layers, source).name);
    named.push_back(std::move(names));
  }
  return named;
}

bool is_quantized(const Network& network) {
  return std::ranges::any_of(network.layers(),
                             [](const Layer& layer) { return std::holds_alternative<FakeQuantize>(layer.op); });
}

}  // namespace evener::network
