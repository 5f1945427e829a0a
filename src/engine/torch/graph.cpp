#include "engine/torch/graph.h"

#include <type_traits>
#include <variant>

#include "base/random.h"

namespace evener::engine::torch_engine {
namespace {

using network::ActivationKind;
using network::Layer;

/// Lets std::visit take one lambda per operation.
template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

at::Tensor as(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

at::Tensor activate(const at::Tensor& x, ActivationKind kind, bool in_place) {
  at::Tensor y = x;
  switch (kind) {
    case ActivationKind::kRelu:
      return in_place ? at::relu_(y) : at::relu(x);
    case ActivationKind::kRelu6:
      return in_place ? at::hardtanh_(y, 0, 6) : at::hardtanh(x, 0, 6);
    case ActivationKind::kSigmoid:
      return in_place ? at::sigmoid_(y) : at::sigmoid(x);
    case ActivationKind::kTanh:
      return in_place ? at::tanh_(y) : at::tanh(x);
  }
  return x;
}

/// Zeros and 1 / (1 - p), keyed by sample and layer, so that every placement drops the same values.
at::Tensor dropout_mask(const at::Tensor& like, double probability, const DropoutKey& key, int layer) {
  at::Tensor mask = at::empty(like.sizes(), at::kFloat);
  const std::int64_t per_sample = like.numel() / like.size(0);
  const float keep = static_cast<float>(1.0 / (1.0 - probability));
  float* out = mask.mutable_data_ptr<float>();
  for (const std::uint32_t sample : key.samples) {
    Random random(key.seed ^ (static_cast<std::uint64_t>(layer) << 32), Purpose::kDropout, key.epoch, sample);
    for (std::int64_t i = 0; i < per_sample; ++i) *out++ = random.uniform() < probability ? 0.0f : keep;
  }
  return mask.to(like.scalar_type());
}

at::Tensor make_tensor(const network::Parameter& parameter, at::MemoryFormat format) {
  if (parameter.shape.empty()) return at::zeros({}, at::kLong);
  at::Tensor tensor = at::zeros(parameter.shape, at::kFloat);
  if (parameter.shape.size() == 4) tensor = tensor.contiguous(format);
  tensor.set_requires_grad(parameter.trained);
  return tensor;
}

}  // namespace

Graph::Graph(network::Network network, at::ScalarType compute, at::MemoryFormat format)
    : network_(std::move(network)), compute_(compute), format_(format), nodes_(network_.layers().size()) {
  for (const auto& parameter : network_.parameters()) {
    tensors_.push_back(make_tensor(parameter, format_));
    nodes_[static_cast<std::size_t>(parameter.layer)].tensors.push_back(tensors_.back());
  }
  plan_memory();
}

/// Finds which outputs may be overwritten (one reader, and a producer whose backward does not need its output) and when
/// each can be let go.
void Graph::plan_memory() {
  const auto& layers = network_.layers();
  std::vector<int> readers(layers.size(), 0), last_reader(layers.size(), -1);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const int input : layers[i].inputs) {
      ++readers[static_cast<std::size_t>(input)];
      last_reader[static_cast<std::size_t>(input)] = static_cast<int>(i);
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const int input : layers[i].inputs) {
      if (last_reader[static_cast<std::size_t>(input)] == static_cast<int>(i)) nodes_[i].dead.push_back(input);
    }
    if (layers[i].inputs.empty()) continue;
    const auto first = static_cast<std::size_t>(layers[i].inputs.front());
    const auto& producer = layers[first].op;
    const bool output_unneeded =
        std::holds_alternative<network::BatchNorm>(producer) || std::holds_alternative<network::Conv2d>(producer) ||
        std::holds_alternative<network::Linear>(producer) || std::holds_alternative<network::Add>(producer);
    nodes_[i].overwrites_input = readers[first] == 1 && output_unneeded;
  }
}

at::Tensor Graph::forward(at::Tensor input, bool training, const DropoutKey& key) {
  const auto& layers = network_.layers();
  std::vector<at::Tensor> outputs(layers.size());
  outputs[0] = as(input, compute_);
  input.reset();
  for (std::size_t i = 1; i < layers.size(); ++i) {
    outputs[i] = run(static_cast<int>(i), outputs, training, key);
    for (const int dead : nodes_[i].dead) outputs[static_cast<std::size_t>(dead)].reset();
  }
  return as(outputs.back(), at::kFloat);
}

at::Tensor Graph::run(int index, const std::vector<at::Tensor>& outputs, bool training, const DropoutKey& key) {
  const Layer& layer = network_.layers()[static_cast<std::size_t>(index)];
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const at::Tensor& x = outputs[static_cast<std::size_t>(layer.inputs.front())];
  const auto parameter = [&](std::size_t i) {
    return i < node.tensors.size() ? as(node.tensors[i], compute_) : at::Tensor();
  };
  return std::visit(Overloaded{
                        [&](const network::Input&) { return x; },
                        [&](const network::Linear&) { return at::linear(x, parameter(0), parameter(1)); },
                        [&](const network::Conv2d& op) {
                          return at::conv2d(x, parameter(0), parameter(1), op.stride, op.padding, 1, op.groups);
                        },
                        [&](const network::BatchNorm& op) {
                          auto& t = node.tensors;  // weight, bias, running_mean, running_var, num_batches_tracked
                          if (training) t[4].add_(1);
                          return at::batch_norm(x, t[0], t[1], t[2], t[3], training, op.momentum, op.epsilon, true);
                        },
                        [&](const network::Activation& op) { return activate(x, op.kind, node.overwrites_input); },
                        [&](const network::MaxPool& op) { return at::max_pool2d(x, op.kernel, op.stride, op.padding); },
                        [&](const network::GlobalAveragePool&) {
                          return at::adaptive_avg_pool2d(x, {1, 1});
                        },
                        [&](const network::Add&) {
                          at::Tensor sum = x;
                          for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
                            const at::Tensor& term = outputs[static_cast<std::size_t>(layer.inputs[i])];
                            sum = i > 1 || node.overwrites_input ? sum.add_(term) : at::add(sum, term);
                          }
                          return sum;
                        },
                        [&](const network::Flatten&) { return at::flatten(x, 1); },
                        [&](const network::Dropout& op) {
                          return training && op.probability > 0 ? x * dropout_mask(x, op.probability, key, index) : x;
                        },
                    },
                    layer.op);
}

}  // namespace evener::engine::torch_engine
