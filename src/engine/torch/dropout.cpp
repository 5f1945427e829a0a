#include "engine/torch/dropout.h"

#include <variant>

#include "base/random.h"
#include "base/tensor.h"

namespace evener::engine::torch_engine {

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
