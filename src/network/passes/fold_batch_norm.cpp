#include "network/passes/fold_batch_norm.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace evener::network {
namespace {

const HostTensor& tensor(const TensorMap& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw Error("the weights have no tensor '" + name + "'");
  return found->second;
}

/// The weight and bias of `conv` with `norm` folded in, under the name of `norm`.
void fold(const Layer& conv, const Layer& norm, const TensorMap& state, TensorMap& folded) {
  HostTensor weight = tensor(state, conv.name + ".weight").to_floats();
  const HostTensor gamma = tensor(state, norm.name + ".weight").to_floats();
  const HostTensor beta = tensor(state, norm.name + ".bias").to_floats();
  const HostTensor mean = tensor(state, norm.name + ".running_mean").to_floats();
  const HostTensor variance = tensor(state, norm.name + ".running_var").to_floats();
  const auto& op = std::get<Conv2d>(conv.op);
  const double epsilon = std::get<BatchNorm>(norm.op).epsilon;
  std::vector<float> bias(static_cast<std::size_t>(op.out_channels));
  if (op.bias) {
    const HostTensor given = tensor(state, conv.name + ".bias").to_floats();
    bias.assign(given.floats(), given.floats() + bias.size());
  }
  const auto per_channel = static_cast<std::size_t>(element_count(weight.shape)) / bias.size();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double factor = gamma.floats()[c] / std::sqrt(static_cast<double>(variance.floats()[c]) + epsilon);
    float* const values = weight.floats() + c * per_channel;
    for (std::size_t i = 0; i < per_channel; ++i) values[i] = static_cast<float>(values[i] * factor);
    const double shifted = static_cast<double>(bias[c]) - mean.floats()[c];
    bias[c] = static_cast<float>(shifted * factor + beta.floats()[c]);
  }
  folded.insert_or_assign(norm.name + ".weight", std::move(weight));
  folded.insert_or_assign(norm.name + ".bias", HostTensor::of_floats({op.out_channels}, bias));
}

/// For each batch-norm layer, the index of the convolution that it is folded into; -1 for other layers.
std::vector<int> folded_convolutions(const Network& network) {
  const std::vector<int> read_by = network.readers();
  const auto& layers = network.layers();
  std::vector<int> found(layers.size(), -1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::holds_alternative<BatchNorm>(layers[i].op)) continue;
    const auto input = static_cast<std::size_t>(layers[i].inputs.front());
    const auto* conv = std::get_if<Conv2d>(&layers[input].op);
    // Folding would change weights that are quantised already.
    if (conv != nullptr && conv->weight_bits == 0 && read_by[input] == 1) found[i] = static_cast<int>(input);
  }
  return found;
}

}  // namespace

Network fold_batch_norm(const Network& network) {
  const auto& layers = network.layers();
  const std::vector<int> conv_of = folded_convolutions(network);
  std::vector<bool> swallowed(layers.size());
  for (const int conv : conv_of) {
    if (conv >= 0) swallowed[static_cast<std::size_t>(conv)] = true;
  }
  Network folded(network.model(), network.input_shape());
  // Index of each layer in the new network; Network's constructor adds the input.
  std::vector<int> place(layers.size());
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (swallowed[i]) continue;
    if (std::holds_alternative<Input>(layers[i].op)) {
      place[i] = folded.add_input(layers[i].name, layers[i].shape);
      continue;
    }
    const Layer& computed = conv_of[i] >= 0 ? layers[static_cast<std::size_t>(conv_of[i])] : layers[i];
    Op op = computed.op;
    if (conv_of[i] >= 0) std::get<Conv2d>(op).bias = true;
    std::vector<int> inputs;
    for (const int input : computed.inputs) inputs.push_back(place[static_cast<std::size_t>(input)]);
    place[i] = folded.add(layers[i].name, std::move(op), std::move(inputs));
  }
  // Maps the new weight names of convolutions that have taken a batch-norm's name to the old ones.
  std::map<std::string, std::string> weights;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (conv_of[i] < 0) continue;
    weights[layers[i].name + ".weight"] = layers[static_cast<std::size_t>(conv_of[i])].name + ".weight";
  }
  folded.learn_as(network, weights);
  for (const Output& output : network.outputs()) {
    const auto layer = static_cast<std::size_t>(output.layer);
    const bool is_input = std::holds_alternative<Input>(layers[layer].op);
    is_input ? folded.hand_on(output.name, place[layer]) : folded.set_output(output.name, place[layer]);
  }
  if (!network.anchors().empty()) folded.set_anchors(network.anchors());
  return folded;
}

NetworkWithState fold_batch_norm(const Network& network, const TensorMap& state) {
  const auto& layers = network.layers();
  const std::vector<int> conv_of = folded_convolutions(network);
  NetworkWithState folded{fold_batch_norm(network), {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (conv_of[i] >= 0) fold(layers[static_cast<std::size_t>(conv_of[i])], layers[i], state, folded.state);
  }
  for (const Parameter& parameter : folded.network.parameters()) {
    if (!folded.state.contains(parameter.name)) folded.state.emplace(parameter.name, tensor(state, parameter.name));
  }
  return folded;
}

}  // namespace evener::network
