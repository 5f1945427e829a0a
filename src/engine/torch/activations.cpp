#include "engine/torch/activations.h"

#include <limits>
#include <variant>

#include "base/random.h"
#include "base/tensor.h"

namespace evener::engine::torch_engine {
namespace {

using network::ActivationKind;

struct Activation {
  at::Tensor (*of)(const at::Tensor& x);
  at::Tensor& (*in_place)(at::Tensor& x);
};

Activation activation(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return {at::relu, at::relu_};
    case ActivationKind::kRelu6:
      return {[](const at::Tensor& x) { return at::hardtanh(x, 0, 6); },
              [](at::Tensor& x) -> at::Tensor& { return at::hardtanh_(x, 0, 6); }};
    case ActivationKind::kSigmoid:
      return {at::sigmoid, at::sigmoid_};
    case ActivationKind::kTanh:
      return {at::tanh, at::tanh_};
    case ActivationKind::kSilu:
      return {at::silu, at::silu_};
    case ActivationKind::kHardSwish:
      return {at::hardswish, at::hardswish_};
    case ActivationKind::kHardSigmoid:
      return {at::hardsigmoid, at::hardsigmoid_};
  }
  return {[](const at::Tensor& x) { return x; }, [](at::Tensor& x) -> at::Tensor& { return x; }};
}

}  // namespace

at::Tensor activate(const at::Tensor& x, ActivationKind kind) {
  return activation(kind).of(x);
}

void activate_in_place(const at::Tensor& x, ActivationKind kind) {
  at::Tensor y = x;
  activation(kind).in_place(y);
}

bool may_overwrite_in_training(ActivationKind kind) {
  return kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6 || kind == ActivationKind::kSigmoid ||
         kind == ActivationKind::kTanh;
}

std::optional<kernels::Clamp> clamp_of(std::optional<ActivationKind> kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!kind) return kernels::Clamp{-kInfinity, kInfinity};
  if (*kind == ActivationKind::kRelu) return kernels::Clamp{0, kInfinity};
  if (*kind == ActivationKind::kRelu6) return kernels::Clamp{0, 6};
  return std::nullopt;
}

std::vector<DropoutLayer> dropout_layers(const network::Network& network) {
  std::vector<DropoutLayer> layers;
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const network::Layer& layer = network.layers()[i];
    DropoutLayer drops{static_cast<int>(i), layer.number, 0, layer.shape};
    if (const auto* op = std::get_if<network::Dropout>(&layer.op)) drops.probability = op->probability;
    if (const auto* op = std::get_if<network::StochasticDepth>(&layer.op)) {
      drops.probability = op->probability;
      drops.shape.assign(layer.shape.size(), 1);
    }
    if (drops.probability > 0) layers.push_back(std::move(drops));
  }
  return layers;
}

void draw_mask(const DropoutLayer& layer, const DropoutKey& key, float* mask) {
  const std::int64_t per_sample = element_count(layer.shape);
  const float keep = static_cast<float>(1.0 / (1.0 - layer.probability));
  const std::uint64_t seed = key.seed ^ (static_cast<std::uint64_t>(layer.number) << 32);
  for (const std::uint32_t sample : key.samples) {
    Random random(seed, Purpose::kDropout, key.epoch, sample);
    for (std::int64_t i = 0; i < per_sample; ++i) *mask++ = random.uniform() < layer.probability ? 0.0f : keep;
  }
}

DropoutMasks draw_masks(const std::vector<DropoutLayer>& layers, const DropoutKey& key) {
  DropoutMasks masks;
  for (const DropoutLayer& layer : layers) {
    std::vector<std::int64_t> shape = {static_cast<std::int64_t>(key.samples.size())};
    shape.insert(shape.end(), layer.shape.begin(), layer.shape.end());
    at::Tensor mask = at::empty(shape, at::kFloat);
    draw_mask(layer, key, mask.mutable_data_ptr<float>());
    masks.emplace(layer.layer, mask);
  }
  return masks;
}

}  // namespace evener::engine::torch_engine
