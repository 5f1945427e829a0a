// Counts operations. A multiply-add counts as two. Element-wise layers are counted by the operations that their
// formulas need, so that totals don't flatter networks with many of them. Loss, optimiser and data conversion are not
// counted.
#include "network/cost.h"

#include <algorithm>

#include "base/tensor.h"
#include "network/step_memory.h"

namespace evener::network {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kTransformedValues = 36;  // of Winograd's F(4x4, 3x3), for 9 weights and for a tile
// exp, add, divide and the like of sigmoid and tanh; a convention, the true number depends on the library.
constexpr std::int64_t kTranscendentalFlops = 4;

// Forward and backward operations of one layer, given elements in and out.
class Flops {
 public:
  struct Count {
    std::int64_t forward = 0, backward = 0;
  };

  Flops(const Layer& layer, const Shape& input, bool scales_channels, bool weight_gradient, bool input_gradient)
      : in_(element_count(input)),
        out_(element_count(layer.shape)),
        channels_(input.front()),
        inputs_(static_cast<std::int64_t>(layer.inputs.size())),
        scales_channels_(scales_channels),
        weight_gradient_(weight_gradient),
        input_gradient_(input_gradient) {}

  Count operator()(const Input&) const { return {}; }
  Count operator()(const Linear& op) const { return products(2 * in_ * op.out_features, op.bias); }
  Count operator()(const Conv2d& op) const {
    return products(2 * out_ * (channels_ / op.groups) * op.kernel.area(), op.bias);
  }
  // Forward: mean (1), variance (3), scale and shift (2). Backward: two sums (3) and the input's gradient (4).
  Count operator()(const BatchNorm&) const { return {6 * out_, 7 * out_}; }
  Count operator()(const Activation& op) const {
    switch (op.kind) {
      case ActivationKind::kRelu:
      case ActivationKind::kRelu6:
        return {out_, out_};
      case ActivationKind::kSigmoid:
      case ActivationKind::kTanh:
        return {kTranscendentalFlops * out_, 3 * out_};
      case ActivationKind::kSilu:  // sigmoid and product; backward computes the sigmoid again
        return {(kTranscendentalFlops + 1) * out_, (kTranscendentalFlops + 5) * out_};
      case ActivationKind::kHardSigmoid:  // product, sum, two bounds; backward a bound and a product
        return {4 * out_, 2 * out_};
      case ActivationKind::kHardSwish:  // one product more; backward product and sum, a bound, the product with dy
        return {5 * out_, 4 * out_};
    }
    return {};
  }
  // Forward a comparison and a product. Backward the same, and product and sum for the weight.
  Count operator()(const PRelu&) const { return {2 * out_, (weight_gradient_ ? 4 : 2) * out_}; }
  Count operator()(const MaxPool& op) const { return {out_ * (op.kernel.area() - 1), out_}; }
  // The sums, and the division by the number of values.
  Count operator()(const AveragePool& op) const { return {out_ * op.kernel.area(), out_ * op.kernel.area()}; }
  Count operator()(const GlobalAveragePool&) const { return {in_, in_}; }
  // Backward: the gradients of a value with several readers are added up.
  Count operator()(const Add&) const { return {(inputs_ - 1) * out_, (inputs_ - 1) * out_}; }
  // Backward: the gradient times either input, and where one is a factor per channel a sum over the pixels.
  Count operator()(const Multiply&) const { return {out_, (scales_channels_ ? 3 : 2) * out_}; }
  Count operator()(const Scale&) const { return {out_, out_}; }
  // A division, rounding, two bounds and a product; backward a mask and the scale's sum.
  Count operator()(const FakeQuantize&) const { return {5 * out_, 4 * out_}; }
  Count operator()(const Concat&) const { return {}; }  // values are moved, not computed
  Count operator()(const Rows&) const { return {}; }
  Count operator()(const Pad&) const { return {}; }
  Count operator()(const Flatten&) const { return {}; }
  Count operator()(const Dropout&) const { return {out_, out_}; }
  Count operator()(const StochasticDepth&) const { return {out_, out_}; }
  Count operator()(const SubsamplePad&) const { return {}; }  // values are moved, not computed

 private:
  // The weights' gradient costs as much as the forward products, the inputs' gradient once more.
  Count products(std::int64_t flops, bool bias) const {
    const std::int64_t bias_flops = bias ? out_ : 0;
    const std::int64_t of_weights = weight_gradient_ ? flops + bias_flops : 0;  // none where they are frozen
    return {flops + bias_flops, of_weights + (input_gradient_ ? flops : 0)};
  }

  std::int64_t in_, out_, channels_, inputs_;
  bool scales_channels_;  // of a product: an input is smaller than the output
  bool weight_gradient_, input_gradient_;
};

const Shape& input_of(const Network& network, const Layer& layer) {
  return layer.inputs.empty() ? layer.shape : network.layers()[static_cast<std::size_t>(layer.inputs.front())].shape;
}

// Whether a layer's backward reads its output again.
bool keeps_output(const Op& op) {
  const auto* activation = std::get_if<Activation>(&op);
  if (activation == nullptr) return false;
  using enum ActivationKind;  // the others' backward pass reads the input instead
  return activation->kind == kRelu || activation->kind == kRelu6 || activation->kind == kSigmoid ||
         activation->kind == kTanh;
}

// Whether a layer's backward reads its inputs again.
bool keeps_inputs(const Op& op) {
  if (std::holds_alternative<Activation>(op)) return !keeps_output(op);
  return is_one_of<Linear, Conv2d, BatchNorm, PRelu, MaxPool, AveragePool, Multiply, FakeQuantize>(op);
}

/// Whether Winograd's F(4x4, 3x3) pays for a convolution whose weights are transformed before: for 32 to 256 channels,
/// where its tiles save three multiplications in five, and with some tiles to each reading of the weights.
bool suits_winograd(const Layer& layer, const Conv2d& op, std::int64_t in_channels, std::int64_t images) {
  constexpr std::int64_t kTile = 4, kFewestTiles = 48;
  const std::int64_t height = layer.shape[1], width = layer.shape[2];
  const std::int64_t tiles = (height + kTile - 1) / kTile * ((width + kTile - 1) / kTile);
  const auto [fewer, more] = std::minmax<std::int64_t>(in_channels, op.out_channels);
  const bool saves = 5 * kTransformedValues * tiles <= 2 * op.kernel.area() * height * width;
  return op.kernel == Extent2d(3) && fewer >= 32 && more <= 256 && saves && images * tiles >= kFewestTiles;
}

}  // namespace

std::vector<LayerCost> layer_costs(const Network& network) {
  std::vector<LayerCost> costs(network.layers().size());
  for (const Parameter& parameter : network.parameters()) {
    if (parameter.trained)
      costs[static_cast<std::size_t>(parameter.layer)].parameters += element_count(parameter.shape);
  }
  const std::vector<bool> needed = needs_gradient(network);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Layer& layer = network.layers()[i];
    costs[i].activation_bytes = element_count(layer.shape) * kFloatBytes;
    const bool input_gradient =
        std::ranges::any_of(layer.inputs, [&](int input) { return needed[static_cast<std::size_t>(input)]; });
    const bool scales_channels = std::ranges::any_of(layer.inputs, [&](int input) {
      return network.layers()[static_cast<std::size_t>(input)].shape != layer.shape;
    });
    const Flops flops(layer, input_of(network, layer), scales_channels, costs[i].parameters > 0, input_gradient);
    const Flops::Count count = std::visit(flops, layer.op);
    costs[i].forward_flops = count.forward;
    costs[i].backward_flops = needed[i] ? count.backward : 0;
  }
  return costs;
}

LayerCost total_cost(const Network& network) {
  LayerCost total;
  for (const LayerCost& cost : layer_costs(network)) {
    total.parameters += cost.parameters;
    total.forward_flops += cost.forward_flops;
    total.backward_flops += cost.backward_flops;
    total.activation_bytes += cost.activation_bytes;
  }
  return total;
}

std::int64_t forward_macs(const Network& network) {
  std::int64_t macs = 0;
  for (const Layer& layer : network.layers()) {
    const std::int64_t out = element_count(layer.shape);
    if (const auto* conv = std::get_if<Conv2d>(&layer.op)) {
      macs += out * (input_of(network, layer).front() / conv->groups) * conv->kernel.area();
    } else if (std::holds_alternative<Linear>(layer.op)) {
      macs += out * input_of(network, layer).front();
    }
  }
  return macs;
}

std::int64_t reordered_bytes(const Network& network, std::int64_t images, bool is_float) {
  std::int64_t bytes = 0;
  for (const Layer& layer : network.layers()) {
    const auto* op = std::get_if<Conv2d>(&layer.op);
    if (op == nullptr || op->bias || op->groups != 1 || op->stride != Extent2d(1) || op->kernel.area() == 1) continue;
    const std::int64_t in = input_of(network, layer).front();
    const bool transformed = is_float && suits_winograd(layer, *op, in, images);
    bytes += in * op->out_channels * (transformed ? 2 * kTransformedValues : op->kernel.area()) * kFloatBytes;
  }
  return bytes;
}

TrainingMemory training_memory(const Network& network) {
  TrainingMemory memory;
  for (const Parameter& parameter : network.parameters()) {
    const std::int64_t bytes = element_count(parameter.shape) * kFloatBytes;
    (parameter.trained ? memory.weight_bytes : memory.buffer_bytes) += bytes;
    if (parameter.trained) memory.largest_weight_bytes = std::max(memory.largest_weight_bytes, bytes);
  }
  memory.gradient_bytes = memory.weight_bytes;

  // Kept once each: outputs that a later backward reads. A flatten is a view of what feeds it. Frozen layers before all
  // trained ones have no backward.
  const auto& layers = network.layers();
  const std::vector<bool> needed = needs_gradient(network);
  std::vector<bool> kept(layers.size());
  std::int64_t widest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!needed[i]) continue;
    if (keeps_output(layers[i].op)) kept[i] = true;
    if (!keeps_inputs(layers[i].op)) continue;
    for (const int input : layers[i].inputs) {
      auto source = static_cast<std::size_t>(input);
      while (std::holds_alternative<Flatten>(layers[source].op)) {
        source = static_cast<std::size_t>(layers[source].inputs.front());
      }
      kept[source] = true;
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (needed[i] && std::holds_alternative<MaxPool>(layers[i].op)) {
      memory.per_sample_bytes += element_count(layers[i].shape) * 8;  // int64 index of each maximum
    }
    if (std::holds_alternative<Dropout>(layers[i].op)) {
      memory.per_sample_bytes += element_count(layers[i].shape) * kFloatBytes;  // the mask: factors, as they are drawn
    }
    if (is_one_of<Input, Flatten>(layers[i].op)) continue;
    widest = std::max(widest, element_count(layers[i].shape) + element_count(input_of(network, layers[i])));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (kept[i]) memory.per_sample_bytes += element_count(layers[i].shape) * kFloatBytes;
  }
  memory.widest_bytes = widest * kFloatBytes;
  memory.per_sample_bytes += memory.widest_bytes;
  return memory;
}

InferenceMemory inference_memory(const Network& network) {
  InferenceMemory memory;
  for (const Parameter& parameter : network.parameters()) {
    memory.weight_bytes += element_count(parameter.shape) * kFloatBytes;
  }
  // Values exist from their computation, inputs from the beginning, until their last reader is done.
  const auto& layers = network.layers();
  std::vector<int> left = network.readers();
  std::int64_t alive = 0;
  const auto bytes_of = [&](std::size_t layer) { return element_count(layers[layer].shape) * kFloatBytes; };
  for (const int input : network.inputs()) alive += bytes_of(static_cast<std::size_t>(input));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::holds_alternative<Input>(layers[i].op)) alive += bytes_of(i);
    memory.per_sample_bytes = std::max(memory.per_sample_bytes, alive);
    for (const int input : layers[i].inputs) {
      if (--left[static_cast<std::size_t>(input)] == 0) alive -= bytes_of(static_cast<std::size_t>(input));
    }
  }
  return memory;
}

}  // namespace evener::network
