#include "engine/torch/graph.h"

#include <limits>
#include <variant>

#include "base/random.h"
#include "engine/torch/batch_norm.h"
#include "engine/torch/depthwise.h"
#include "engine/torch/rows.h"

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

kernels::Clamp clamp_of(const network::Network& network, int activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation < 0) return {-kInfinity, kInfinity};
  const auto& layer = network.layers()[static_cast<std::size_t>(activation)];
  const bool relu6 = std::get<network::Activation>(layer.op).kind == ActivationKind::kRelu6;
  return {0, relu6 ? 6 : kInfinity};
}

}  // namespace

Graph::Graph(network::Network network, at::ScalarType compute, at::MemoryFormat format)
    : network_(std::move(network)),
      compute_(compute),
      format_(format),
      of_layer_(network_.layers().size()),
      steps_(plan_steps(network_, format == at::MemoryFormat::ChannelsLast)) {
  for (const auto& parameter : network_.parameters()) {
    tensors_.push_back(make_tensor(parameter, format_));
    of_layer_[static_cast<std::size_t>(parameter.layer)].push_back(tensors_.back());
  }
}

at::Tensor Graph::forward(at::Tensor input, bool training, const DropoutKey& key, const Replicas* replicas) {
  std::vector<at::Tensor> outputs(network_.layers().size());
  outputs[0] = as(input, compute_);
  input.reset();
  for (const Step& step : steps_) {
    if (step.output == 0) continue;
    outputs[static_cast<std::size_t>(step.output)] = run(step, outputs, training, key, replicas);
    for (const int dead : step.dead) outputs[static_cast<std::size_t>(dead)].reset();
  }
  return as(outputs.back(), at::kFloat);
}

at::Tensor Graph::run_batch_norm(const Step& step, const std::vector<at::Tensor>& outputs, bool training,
                                 const Replicas* replicas) {
  const Layer& layer = network_.layers()[static_cast<std::size_t>(step.layer)];
  const auto& op = std::get<network::BatchNorm>(layer.op);
  auto& t = of_layer_[static_cast<std::size_t>(step.layer)];  // weight, bias, running_mean, running_var, batches
  if (training) t[4].add_(1);
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  if (format_ != at::MemoryFormat::ChannelsLast) {
    return at::batch_norm(x, t[0], t[1], t[2], t[3], training, op.momentum, op.epsilon, true);
  }
  at::Tensor residual;
  if (step.inputs.size() > 1) residual = as_rows(outputs[static_cast<std::size_t>(step.inputs[1])], x);
  return batch_norm(as_rows(x, x), residual, {t[0], t[1], t[2], t[3]},
                    {op.epsilon, op.momentum, training, clamp_of(network_, step.activation), layer.name, replicas});
}

at::Tensor Graph::run_convolution(const network::Conv2d& op, const at::Tensor& x,
                                  const std::vector<at::Tensor>& tensors) {
  if (is_depthwise(op, x)) return depthwise_convolution(x, tensors[0], op);
  const at::Tensor bias = op.bias ? as(tensors[1], compute_) : at::Tensor();
  return at::conv2d(x, as(tensors[0], compute_), bias, op.stride, op.padding, 1, op.groups);
}

at::Tensor Graph::run(const Step& step, const std::vector<at::Tensor>& outputs, bool training, const DropoutKey& key,
                      const Replicas* replicas) {
  const Layer& layer = network_.layers()[static_cast<std::size_t>(step.layer)];
  auto& tensors = of_layer_[static_cast<std::size_t>(step.layer)];
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  return std::visit(
      Overloaded{
          [&](const network::Input&) { return x; },
          [&](const network::Linear& op) {
            return at::linear(x, as(tensors[0], compute_), op.bias ? as(tensors[1], compute_) : at::Tensor());
          },
          [&](const network::Conv2d& op) { return run_convolution(op, x, tensors); },
          [&](const network::BatchNorm&) { return run_batch_norm(step, outputs, training, replicas); },
          [&](const network::Activation& op) { return activate(x, op.kind, step.overwrites); },
          [&](const network::MaxPool& op) { return at::max_pool2d(x, op.kernel, op.stride, op.padding); },
          [&](const network::GlobalAveragePool&) {
            return at::adaptive_avg_pool2d(x, {1, 1});
          },
          [&](const network::Add&) {
            at::Tensor sum = x;
            for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
              const at::Tensor& term = outputs[static_cast<std::size_t>(layer.inputs[i])];
              sum = i > 1 || step.overwrites ? sum.add_(term) : at::add(sum, term);
            }
            return sum;
          },
          [&](const network::SubsamplePad& op) {
            const std::int64_t added = op.out_channels - x.size(1);
            const at::Tensor pixels = x.slice(2, 0, x.size(2), op.stride).slice(3, 0, x.size(3), op.stride);
            return at::constant_pad_nd(pixels, {0, 0, 0, 0, added / 2, added - added / 2}, 0);
          },
          [&](const network::Flatten&) { return at::flatten(x, 1); },
          [&](const network::Dropout& op) {
            return training && op.probability > 0 ? x * dropout_mask(x, op.probability, key, step.layer) : x;
          },
      },
      layer.op);
}

}  // namespace evener::engine::torch_engine
