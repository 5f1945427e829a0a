#include "engine/torch/graph.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>
#include <vector>

#include "base/precision.h"
#include "engine/torch/activations.h"
#include "engine/torch/batch_norm.h"
#include "engine/torch/convolution.h"
#include "engine/torch/device.h"
#include "engine/torch/rows.h"
#include "engine/torch/winograd.h"
#include "network/network.h"
#include "network/quantization.h"

namespace evener::engine::torch_engine {
namespace {

using network::ActivationKind;
using network::Layer;
using network::Levels;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// x / scale, in float32.
at::Tensor in_steps(const at::Tensor& x, const at::Tensor& scale) {
  return x.to(at::kFloat).div(scale.clamp_min(network::kLeastScale));
}

class FakeQuantizeFunction : public torch::autograd::Function<FakeQuantizeFunction> {
 public:
  /// `scale`: of a shape that is broadcast over `x`.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double least,
                            double most, double gradient_factor) {
    ctx->save_for_backward({x, scale});
    ctx->saved_data["least"] = least;
    ctx->saved_data["most"] = most;
    ctx->saved_data["gradient_factor"] = gradient_factor;
    const at::Tensor levels = in_steps(x, scale).round_().clamp_(least, most);
    return levels.mul_(scale.clamp_min(network::kLeastScale)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &dy = grads[0];
    const double least = ctx->saved_data["least"].toDouble(), most = ctx->saved_data["most"].toDouble();
    const at::Tensor steps = in_steps(x, scale);
    const at::Tensor inside = steps.ge(least).logical_and_(steps.le(most));
    at::Tensor dx, dscale;
    if (ctx->needs_input_grad(0)) dx = dy * inside;
    if (ctx->needs_input_grad(1)) {
      // round(v) - v between the levels, the level itself beyond them.
      const at::Tensor slope = steps.round().clamp_(least, most).sub_(steps.mul(inside));
      dscale = at::sum_to(slope.mul_(dy), scale.sizes()).mul_(ctx->saved_data["gradient_factor"].toDouble());
    }
    return {dx, dscale, {}, {}, {}};
  }
};

at::Tensor fake_quantize(const at::Tensor& x, const at::Tensor& scale, Levels levels, std::int64_t values) {
  const double factor = 1 / std::sqrt(static_cast<double>(values) * static_cast<double>(levels.most));
  return FakeQuantizeFunction::apply(x, scale, static_cast<double>(levels.least), static_cast<double>(levels.most),
                                     factor);
}

/// The result of a FakeQuantize layer: network::fake_quantized of each value of `x`, which keeps its type. `scale` (1)
/// in float32. Differentiable: values within the levels pass their gradient on as if they had not been rounded
/// (straight-through estimator), and the scale has the gradient of LSQ (Esser et al. 2020), multiplied by 1 /
/// sqrt(values of a sample * largest level) and summed over the samples like that of any parameter.
at::Tensor fake_quantize_activations(const at::Tensor& x, const at::Tensor& scale, bool is_signed) {
  return fake_quantize(x, scale, network::activation_levels(is_signed), x.numel() / x.size(0));
}

/// The same for weights (O, ...) with `bits` bits, and a scale (O) for each output channel.
at::Tensor fake_quantize_weights(const at::Tensor& weight, const at::Tensor& scale, int bits) {
  std::vector<std::int64_t> per_channel(static_cast<std::size_t>(weight.dim()), 1);
  per_channel.front() = -1;
  return fake_quantize(weight, scale.view(per_channel), network::weight_levels(bits), weight.numel() / weight.size(0));
}

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

at::Tensor make_tensor(const network::Parameter& parameter, const GraphOptions& options) {
  const auto on_device = at::TensorOptions().device(options.device);
  if (parameter.shape.empty()) return at::zeros({}, on_device.dtype(at::kLong));
  at::Tensor tensor = at::zeros(parameter.shape, on_device.dtype(at::kFloat));
  if (parameter.shape.size() == 4) tensor = tensor.contiguous(options.format);
  tensor.set_requires_grad(parameter.trained && !options.inference);
  return tensor;
}

/// A layer's weight (its first tensor), fake-quantised with the scale (its last tensor) if the layer has `bits`.
at::Tensor weight_of(const std::vector<at::Tensor>& tensors, int bits) {
  return bits == 0 ? tensors.front() : fake_quantize_weights(tensors.front(), tensors.back(), bits);
}

/// A layer's weight, and bias if it has one, as LaterParameters; null where weights are quantised.
template <class Op>
LaterParametersPtr later_parameters(LaterGradients* later, const std::vector<at::Tensor>& tensors, const Op& op) {
  if (op.weight_bits != 0) return {};
  return LaterParameters::of(later, {tensors.begin(), tensors.begin() + (op.bias ? 2 : 1)});
}

/// The kind of an activation layer, if there is one (not -1).
std::optional<ActivationKind> activation_of(const network::Network& network, int layer) {
  if (layer < 0) return std::nullopt;
  return std::get<network::Activation>(network.layers()[static_cast<std::size_t>(layer)].op).kind;
}

network::Join join_of(const GraphOptions& options) {
  if (!options.own_kernels) return network::Join::kNothing;
  return options.inference ? network::Join::kConvolutionToo : network::Join::kBatchNorm;
}

template <class Op>
bool has(const network::Network& network) {
  return std::any_of(network.layers().begin(), network.layers().end(),
                     [](const auto& layer) { return std::holds_alternative<Op>(layer.op); });
}

/// The number type of convolutions and matrix products.
at::ScalarType compute_type(const TrainerOptions& options) {
  switch (computed_precision(options.precision, options.device.kind)) {
    case Precision::kFp32:
    case Precision::kTf32:
      break;
    case Precision::kBf16:
      return at::kBFloat16;
    case Precision::kFp16:
      return at::kHalf;
  }
  return at::kFloat;
}

/// The memory format of images, activations and convolution weights on the trainer's device.
at::MemoryFormat memory_format(const network::Network& network, const TrainerOptions& options) {
  // Tensor cores are fastest with channels last; cuDNN's float32 convolutions with channels first.
  const bool planes = options.device.kind == DeviceKind::kCuda && options.torch.layout == MemoryLayout::kAuto &&
                      options.precision == Precision::kFp32;
  return planes ? at::MemoryFormat::Contiguous : host_memory_format(network, options);
}

}  // namespace

Graph::Graph(network::Network network, const GraphOptions& options)
    : network_(std::move(network)),
      options_(options),
      of_layer_(network_.layers().size()),
      inputs_(network_.inputs()),
      steps_(network::plan_steps(network_, join_of(options))),
      kept_(options.keeps_weights ? c10::make_intrusive<StepWeights>() : StepWeightsPtr()) {
  for (const auto& parameter : network_.parameters()) {
    tensors_.push_back(make_tensor(parameter, options_));
    of_layer_[static_cast<std::size_t>(parameter.layer)].push_back(tensors_.back());
  }
}

std::vector<at::Tensor> Graph::forward_outputs(at::Tensor input, bool training, const DropoutMasks& masks,
                                               const Replicas* replicas, const StepWatch& watch) {
  std::vector<at::Tensor> inputs(1);
  inputs.front() = std::move(input);
  return forward_outputs(std::move(inputs), training, masks, replicas, watch);
}

std::vector<at::Tensor> Graph::forward_outputs(std::vector<at::Tensor> inputs, bool training, const DropoutMasks& masks,
                                               const Replicas* replicas, const StepWatch& watch,
                                               LaterGradients* later) {
  if (training) largest_batch_ = std::max(largest_batch_, inputs.front().size(0));
  std::vector<at::Tensor> outputs(network_.layers().size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    outputs[static_cast<std::size_t>(inputs_[i])] = as(inputs.at(i), options_.compute);
    inputs[i].reset();
  }
  if (watch) watch(nullptr, outputs[0]);
  const Pass pass{training, masks, replicas, later};
  for (const Step& step : steps_) {
    if (step.inputs.empty()) continue;  // an input of the network
    outputs[static_cast<std::size_t>(step.output)] = run(step, outputs, pass);
    if (watch) watch(&step, outputs[static_cast<std::size_t>(step.output)]);
    for (const int dead : step.dead) outputs[static_cast<std::size_t>(dead)].reset();
  }
  std::vector<at::Tensor> results;
  for (const network::Output& output : network_.outputs()) {
    results.push_back(as(outputs[static_cast<std::size_t>(output.layer)], at::kFloat));
  }
  return results;
}

at::Tensor Graph::run_batch_norm(const Step& step, const std::vector<at::Tensor>& outputs, bool training,
                                 const Replicas* replicas) {
  count_batch(step.layer, training);
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  const BatchNormLayer norm = norm_layer(step.layer, step.activation, training, replicas);
  if (!options_.own_kernels) {
    const bool takes_statistics = training && !norm.frozen;
    if (takes_statistics && replicas != nullptr) return sync_batch_norm(x, norm);
    if (takes_statistics) require_variance(static_cast<double>(x.numel() / x.size(1)), nullptr, norm.name);
    return at::batch_norm(x, norm.weight, norm.bias, norm.running_mean, norm.running_variance, takes_statistics,
                          norm.momentum, norm.epsilon, /*cudnn_enabled=*/true);
  }
  at::Tensor residual;
  if (step.inputs.size() > 1) residual = as_rows(outputs[static_cast<std::size_t>(step.inputs[1])], x);
  return batch_norm(as_rows(x, x), residual, norm);
}

BatchNormLayer Graph::norm_layer(int index, int activation, bool training, const Replicas* replicas) {
  const Layer& layer = network_.layers()[static_cast<std::size_t>(index)];
  const auto& op = std::get<network::BatchNorm>(layer.op);
  const auto& t = of_layer_[static_cast<std::size_t>(index)];
  return {t[0],       t[1],       t[2],
          t[3],       op.epsilon, op.momentum,
          training,   op.frozen,  *clamp_of(activation_of(network_, activation)),
          layer.name, replicas};
}

at::Tensor Graph::run_depthwise(const Step& step, const std::vector<at::Tensor>& outputs, const Pass& pass) {
  const auto& op = std::get<network::Conv2d>(network_.layers()[static_cast<std::size_t>(step.depthwise)].op);
  const auto norm_of = [&](int index, int activation) {
    count_batch(index, pass.training);
    return norm_layer(index, activation, pass.training, pass.replicas);
  };
  std::optional<BatchNormLayer> before;
  if (step.layer < step.depthwise) {
    before = norm_of(step.layer, step.layer + 1 < step.depthwise ? step.layer + 1 : -1);
  }
  const BatchNormLayer after = norm_of(step.depthwise + 1, step.activation);
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  const at::Tensor weight = weight_of(of_layer_[static_cast<std::size_t>(step.depthwise)], op.weight_bits);
  return depthwise_convolution(as_rows(x, x), weight, op, before ? &*before : nullptr, &after);
}

void Graph::count_batch(int norm, bool training) {
  const auto& op = std::get<network::BatchNorm>(network_.layers()[static_cast<std::size_t>(norm)].op);
  // weight, bias, running_mean, running_var, batches
  if (training && !op.frozen) of_layer_[static_cast<std::size_t>(norm)][4].add_(1);
}

void Graph::forget_weights() {
  if (kept_) kept_->forget();
}

void Graph::prepare(std::int64_t batch) {
  ConvolutionTrials trials;
  for (const Step& step : steps_) {
    const Layer& layer = network_.layers()[static_cast<std::size_t>(step.layer)];
    const auto* op = std::get_if<network::Conv2d>(&layer.op);
    if (op == nullptr) continue;
    auto& tensors = of_layer_[static_cast<std::size_t>(step.layer)];
    const ConvolutionInput input = {batch, network_.layers()[static_cast<std::size_t>(layer.inputs.front())].shape,
                                    options_.compute};
    const at::Tensor weight = weight_of(tensors, op->weight_bits);
    const bool winograd = options_.convolution == ConvolutionChoice::kAuto
                              ? trials.winograd_wins(*op, input, weight)
                              : options_.convolution == ConvolutionChoice::kWinograd;
    prepared_.emplace(step.layer, PreparedConvolution(*op, input, weight, op->bias ? tensors[1] : at::Tensor(),
                                                      activation_of(network_, step.activation), winograd));
    tensors.clear();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (network_.parameters()[i].layer == step.layer) tensors_[i].reset();
    }
  }
}

std::map<std::string, int> Graph::executed() const {
  std::map<std::string, int> counts;
  // Before the first forward pass the methods aren't known yet.
  const bool unknown = prepared_.empty() && largest_batch_ == 0;
  if (!options_.own_kernels || unknown) return counts;
  for (const Step& step : steps_) {
    const Layer& layer = network_.layers()[static_cast<std::size_t>(step.depthwise >= 0 ? step.depthwise : step.layer)];
    const auto* op = std::get_if<network::Conv2d>(&layer.op);
    if (op == nullptr) continue;
    const network::Shape& input = network_.layers()[static_cast<std::size_t>(layer.inputs.front())].shape;
    const auto prepared = prepared_.find(step.layer);
    const std::string method = prepared != prepared_.end()                     ? prepared->second.method()
                               : network::is_depthwise(*op, input.front())     ? "depthwise"
                               : computes_winograd(*op, input, largest_batch_) ? "winograd"
                                                                               : "direct";
    ++counts["Convolution " + method + (options_.compute == at::kFloat ? " f32" : " bf16")];
  }
  return counts;
}

bool Graph::computes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch) const {
  return options_.own_kernels && op.weight_bits == 0 &&
         takes_winograd(op, input, batch, options_.compute, options_.convolution, kept_ != nullptr);
}

at::Tensor Graph::run_convolution(const Step& step, const network::Conv2d& op, const std::vector<at::Tensor>& outputs,
                                  const Pass& pass) {
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  if (const auto prepared = prepared_.find(step.layer); prepared != prepared_.end()) {
    return prepared->second.run(
        x, step.inputs.size() > 1 ? outputs[static_cast<std::size_t>(step.inputs[1])] : at::Tensor());
  }
  const std::vector<at::Tensor>& tensors = of_layer_[static_cast<std::size_t>(step.layer)];
  const at::Tensor weight = weight_of(tensors, op.weight_bits);
  const LaterParametersPtr later = later_parameters(pass.later, tensors, op);
  if (options_.own_kernels && has_rows(x) && network::is_depthwise(op, x.size(1))) {
    return depthwise_convolution(x, weight, op);
  }
  if (x.size(0) > 0 && has_rows(x) && computes_winograd(op, {x.size(1), x.size(2), x.size(3)}, x.size(0))) {
    return winograd_convolution(x, weight, op, pass.training ? kept_ : StepWeightsPtr(), later);
  }
  if (pass.training && options_.own_kernels && takes_direct(op, x, kept_ != nullptr)) {
    return direct_convolution(x, weight, op, kept_, later);
  }
  if (later) return convolution_later(x, op, later);
  const at::Tensor bias = op.bias ? as(tensors[1], options_.compute) : at::Tensor();
  return at::conv2d(x, as(weight, options_.compute), bias, sides(op.stride), sides(op.padding), 1, op.groups);
}

at::Tensor Graph::run_linear(const Step& step, const network::Linear& op, const at::Tensor& x, const Pass& pass) {
  const std::vector<at::Tensor>& tensors = of_layer_[static_cast<std::size_t>(step.layer)];
  const LaterParametersPtr later = later_parameters(pass.later, tensors, op);
  if (later && x.dim() == 2) return linear_later(x, later);
  return at::linear(x, as(weight_of(tensors, op.weight_bits), options_.compute),
                    op.bias ? as(tensors[1], options_.compute) : at::Tensor());
}

at::Tensor Graph::run(const Step& step, const std::vector<at::Tensor>& outputs, const Pass& pass) {
  if (step.depthwise >= 0) return run_depthwise(step, outputs, pass);
  const Layer& layer = network_.layers()[static_cast<std::size_t>(step.layer)];
  auto& tensors = of_layer_[static_cast<std::size_t>(step.layer)];
  const at::Tensor& x = outputs[static_cast<std::size_t>(step.inputs.front())];
  const auto drop = [&](double probability) {
    return pass.training && probability > 0 ? x * as(pass.masks.at(step.layer), x.scalar_type()) : x;
  };
  return std::visit(
      Overloaded{
          [&](const network::Input&) { return x; },
          [&](const network::Linear& op) { return run_linear(step, op, x, pass); },
          [&](const network::Conv2d& op) { return run_convolution(step, op, outputs, pass); },
          [&](const network::BatchNorm&) { return run_batch_norm(step, outputs, pass.training, pass.replicas); },
          [&](const network::Activation& op) {
            if (!step.overwrites || !(options_.inference || may_overwrite_in_training(op.kind))) {
              return activate(x, op.kind);
            }
            activate_in_place(x, op.kind);
            return x;
          },
          [&](const network::PRelu&) { return at::prelu(x, as(tensors[0], x.scalar_type())); },
          [&](const network::MaxPool& op) {
            return at::max_pool2d(x, sides(op.kernel), sides(op.stride), sides(op.padding), 1, op.ceil_mode);
          },
          [&](const network::AveragePool& op) {
            return at::avg_pool2d(x, sides(op.kernel), sides(op.stride), sides(op.padding), op.ceil_mode,
                                  op.count_include_pad);
          },
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
          [&](const network::Multiply&) { return x * outputs[static_cast<std::size_t>(layer.inputs[1])]; },
          [&](const network::Scale& op) { return x * op.factor; },
          [&](const network::FakeQuantize& op) { return fake_quantize_activations(x, tensors[0], op.is_signed); },
          [&](const network::Concat&) {
            std::vector<at::Tensor> parts;
            for (const int input : layer.inputs) parts.push_back(outputs[static_cast<std::size_t>(input)]);
            return at::cat(parts, 1);
          },
          [&](const network::SubsamplePad& op) {
            const std::int64_t added = op.out_channels - x.size(1);
            const at::Tensor pixels = x.slice(2, 0, x.size(2), op.stride).slice(3, 0, x.size(3), op.stride);
            return at::constant_pad_nd(pixels, {0, 0, 0, 0, added / 2, added - added / 2}, 0);
          },
          [&](const network::Pad& op) {
            return at::constant_pad_nd(x, {op.before.width, op.after.width, op.before.height, op.after.height}, 0);
          },
          [&](const network::Rows& op) {
            return x.permute({0, 2, 3, 1}).reshape({x.size(0), layer.shape[0], op.values});
          },
          [&](const network::Flatten&) { return at::flatten(x, 1); },
          [&](const network::Dropout& op) { return drop(op.probability); },
          [&](const network::StochasticDepth& op) { return drop(op.probability); },
      },
      layer.op);
}

bool is_synchronised(const network::Network& network, const TrainerOptions& options) {
  return options.sum_over_replicas && has<network::BatchNorm>(network);
}

at::MemoryFormat host_memory_format(const network::Network& network, const TrainerOptions& options) {
  if (options.torch.layout == MemoryLayout::kChannelsFirst) return at::MemoryFormat::Contiguous;
  // On the CPU only our own batch-norm can synchronise replicas, and it needs channels last.
  const bool last = has<network::Conv2d>(network) || is_synchronised(network, options);
  return last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

GraphOptions graph_options(const network::Network& network, const TrainerOptions& options) {
  const at::Device device = torch_device(options.device);
  const at::MemoryFormat format = memory_format(network, options);
  const bool own_kernels =
      device.is_cpu() && !options.torch.like_accelerator && format == at::MemoryFormat::ChannelsLast;
  const bool keeps_weights = own_kernels && options.stage.is_part() && options.stage.micro_batches > 1;
  return {device, compute_type(options), format, own_kernels, options.torch.convolution, keeps_weights};
}

std::string replica_refusal(const network::Network& network, const TrainerOptions& options) {
  if (options.device.kind != DeviceKind::kCpu || !is_synchronised(network, options) ||
      options.torch.layout != MemoryLayout::kChannelsFirst) {
    return {};
  }
  return "batch-norm over all replicas is made for images with their channels last: '" + network.model() +
         "' needs --layout nhwc or auto here, not nchw";
}

}  // namespace evener::engine::torch_engine
