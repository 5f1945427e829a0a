#include "infer/run/activation_map.h"

#include <algorithm>
#include <variant>

#include "infer/model/fitted_calibration.h"

namespace evener::inference {
namespace {

/// The samples that `looked` names, taken out of others.
class LookedSamples : public data::Samples {
 public:
  LookedSamples(const data::Samples& all, std::span<const Looked> looked) : all_(all), looked_(looked) {}

  std::size_t size() const override { return looked_.size(); }
  const std::vector<std::int64_t>& shape() const override { return all_.shape(); }
  bool is_bytes() const override { return all_.is_bytes(); }
  std::string name(std::size_t index) const override { return all_.name(looked_[index].sample); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    all_.read(looked_[index].sample, values);
  }
  void read(std::size_t index, std::span<float> values) const override { all_.read(looked_[index].sample, values); }

 private:
  const data::Samples& all_;
  const std::span<const Looked> looked_;
};

}  // namespace

std::optional<PooledHead> pooled_head(const network::Network& network) {
  const std::optional<LinearHead> head = linear_head(network);
  if (!head) return std::nullopt;
  const auto& layers = network.layers();
  const auto input_of = [&](const network::Layer& layer) {
    return &layers[static_cast<std::size_t>(layer.inputs.front())];
  };
  const network::Layer* layer = &layers[static_cast<std::size_t>(head->input)];
  while (network::is_one_of<network::Flatten, network::Dropout, network::FakeQuantize>(layer->op)) {
    layer = input_of(*layer);
  }
  if (!std::holds_alternative<network::GlobalAveragePool>(layer->op)) return std::nullopt;
  const network::Layer* map = input_of(*layer);
  if (map->shape.size() != 3 || map->shape[1] * map->shape[2] < 2) return std::nullopt;
  return PooledHead{map->name, head->layer, map->shape[0], map->shape[1], map->shape[2], head->classes};
}

float ActivationMap::at(std::int64_t y, std::int64_t x, std::int64_t picture_height, std::int64_t picture_width) const {
  // Middles of pixels lie on middles of places.
  const auto place = [](std::int64_t pixel, std::int64_t pixels, std::int64_t places) {
    const double exact = (static_cast<double>(pixel) + 0.5) * static_cast<double>(places) / static_cast<double>(pixels);
    return std::clamp(exact - 0.5, 0.0, static_cast<double>(places - 1));
  };
  const double row = place(y, picture_height, height), column = place(x, picture_width, width);
  const auto top = static_cast<std::int64_t>(row), left = static_cast<std::int64_t>(column);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const auto value = [&](std::int64_t r, std::int64_t c) {
    return static_cast<double>(values[static_cast<std::size_t>(r * width + c)]);
  };
  const double down = row - static_cast<double>(top), aside = column - static_cast<double>(left);
  const double above = value(top, left) * (1 - aside) + value(top, right) * aside;
  const double below = value(bottom, left) * (1 - aside) + value(bottom, right) * aside;
  return static_cast<float>(above * (1 - down) + below * down);
}

ActivationMap class_map(std::span<const float> channels, std::span<const float> weights, std::int64_t height,
                        std::int64_t width) {
  const auto places = static_cast<std::size_t>(height * width);
  ActivationMap map{height, width, std::vector<float>(places, 0)};
  for (std::size_t channel = 0; channel < weights.size(); ++channel) {
    for (std::size_t place = 0; place < places; ++place) {
      map.values[place] += weights[channel] * channels[channel * places + place];
    }
  }
  const float most = *std::ranges::max_element(map.values);
  for (float& value : map.values) value = most > 0 ? std::max(0.0F, value / most) : 0;
  return map;
}

std::vector<ActivationMap> class_maps(const Probe& probe, const network::Network& network, const TensorMap& state,
                                      const PooledHead& head, const data::Samples& samples,
                                      std::span<const Looked> looked) {
  std::vector<ActivationMap> maps(looked.size());
  if (looked.empty()) return maps;
  const auto values = static_cast<std::size_t>(head.channels);
  const HostTensor& linear = state.at(head.linear + ".weight");
  const std::span<const float> weights(linear.floats(), static_cast<std::size_t>(head.classes) * values);
  const LookedSamples chosen(samples, looked);
  observe_results(probe, network, state, {head.map}, chosen, chosen.size(),
                  [&](const TensorMap& results, std::span<const std::size_t> indices) {
                    for (std::size_t i = 0; i < indices.size(); ++i) {
                      const std::size_t row = looked[indices[i]].index_of_class * values;
                      if (row + values > weights.size()) continue;
                      maps[indices[i]] = class_map(values_of(results.at(head.map), i), weights.subspan(row, values),
                                                   head.height, head.width);
                    }
                  });
  return maps;
}

}  // namespace evener::inference
