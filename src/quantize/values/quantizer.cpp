#include "quantize/values/quantizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/forked.h"
#include "base/module.h"
#include "base/plural.h"
#include "network/passes/fold_batch_norm.h"
#include "network/quantization.h"
#include "quantize/values/ranges.h"

namespace evener::quantization {
namespace {

using network::Layer;
using network::QuantizationScheme;

constexpr std::size_t kFewImages = 32;

const network::Conv2d* conv_of(const Layer& layer) {
  return std::get_if<network::Conv2d>(&layer.op);
}

bool has_weights(const Layer& layer) {
  return conv_of(layer) != nullptr || std::holds_alternative<network::Linear>(layer.op);
}

std::vector<std::string> layers_with_weights(const network::Network& network) {
  std::vector<std::string> names;
  for (const Layer& layer : network.layers()) {
    if (has_weights(layer)) names.push_back(layer.name);
  }
  return names;
}

const Layer& input_of(const network::Network& network, const Layer& layer) {
  return network.layers()[static_cast<std::size_t>(layer.inputs.front())];
}

/// The share of a window's places at which its value `tap` lies on the image and not in the padding.
double share_inside(std::int64_t size, std::int64_t places, std::int64_t tap, std::int64_t stride,
                    std::int64_t padding) {
  std::int64_t inside = 0;
  for (std::int64_t place = 0; place < places; ++place) {
    const std::int64_t at = place * stride + tap - padding;
    inside += at >= 0 && at < size ? 1 : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(places);
}

/// The same for each value of a window, row by row.
std::vector<double> shares_inside(const network::Conv2d& conv, const network::Shape& in, const network::Shape& out) {
  std::vector<double> shares;
  for (std::int64_t row = 0; row < conv.kernel.height; ++row) {
    const double rows = share_inside(in[1], out[1], row, conv.stride.height, conv.padding.height);
    for (std::int64_t column = 0; column < conv.kernel.width; ++column) {
      shares.push_back(rows * share_inside(in[2], out[2], column, conv.stride.width, conv.padding.width));
    }
  }
  return shares;
}

/// Scales and corrected biases by their names: what differs from the folded network.
std::map<std::string, std::vector<float>> found_values(const QuantizedModel& model, const TensorMap& folded) {
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, tensor] : model.state) {
    const auto before = folded.find(name);
    if (before != folded.end() && before->second == tensor) continue;
    values[name].assign(tensor.floats(), tensor.floats() + element_count(tensor.shape));
  }
  return values;
}

}  // namespace

Quantizer::Quantizer(const inference::Probe& probe, const network::Network& network, const TensorMap& state,
                     const data::Samples& samples, const QuantizeOptions& options)
    : probe_(probe),
      samples_(samples),
      options_(options),
      folded_(network::fold_batch_norm(network)),
      state_(network::fold_batch_norm(network, state).state) {
  for (const Layer& layer : network.layers()) {
    if (!std::holds_alternative<network::BatchNorm>(layer.op)) continue;
    const Layer& before = input_of(network, layer);
    if (conv_of(before) != nullptr) other_names_.emplace(layer.name, before.name);
  }
  const QuantizationScheme scheme = network::choose_quantization(folded_, options.weight_bits, {});
  if (scheme.empty()) {
    throw UsageError(network.model() + " has neither convolutions nor linear layers, so there is nothing to quantise");
  }
  shared_ = network::shared_scales(folded_, scheme);
  observe(scheme);
  note_ranges(scheme);
}

void Quantizer::observe(const QuantizationScheme& scheme) {
  std::set<std::string> wanted;
  for (const auto& [layer, is_signed] : scheme.activations) wanted.insert(layer);
  for (const Layer& layer : folded_.layers()) {
    if (has_weights(layer)) wanted.insert(input_of(folded_, layer).name);
  }
  images_ =
      inference::observe_results(probe_, folded_, state_, {wanted.begin(), wanted.end()}, samples_, options_.images,
                                 [&](const TensorMap& results, std::span<const std::size_t> indices) {
                                   for (const std::string& name : wanted) {
                                     const HostTensor& values = results.at(name);
                                     Seen& seen = seen_[name];
                                     const auto channels = static_cast<std::size_t>(values.shape.at(1));
                                     seen.channel_sums.resize(channels);
                                     for (std::size_t i = 0; i < indices.size(); ++i) {
                                       const std::span<const float> image = inference::values_of(values, i);
                                       seen.magnitudes.add(image);
                                       const std::size_t each = image.size() / channels;
                                       for (std::size_t k = 0; k < image.size(); ++k)
                                         seen.channel_sums[k / each] += image[k];
                                       seen.values_per_channel += static_cast<double>(each);
                                     }
                                   }
                                 });
  if (images_ == 0) {
    throw UsageError(
        "there are no images to calibrate with: ranges of activations have to be seen; give some (--images)");
  }
}

void Quantizer::note_ranges(const QuantizationScheme& scheme) {
  if (images_ < kFewImages) {
    notes_.push_back(fmt::format(
        "calibrated on {} alone: other images may reach beyond the ranges seen; some hundred give a steady result",
        counted(static_cast<std::int64_t>(images_), "image")));
  }
  for (const auto& [name, is_signed] : scheme.activations) {
    const MagnitudeHistogram& seen = seen_.at(name).magnitudes;
    if (seen.not_finite() > 0) {
      unusable_.insert(name);
      notes_.push_back(fmt::format("'{}' gives {} not finite on the calibration images: what reads it stays in float",
                                   name, counted(seen.not_finite(), "value")));
    } else if (seen.bins().empty()) {
      notes_.push_back(fmt::format(
          "'{}' gives zeros alone on the calibration images: its range is not known, and 1 is its step", name));
    }
  }
}

/// Layers with weights that the values of `layer` reach without another one between.
std::set<std::string> Quantizer::readers_of(const std::string& layer) const {
  const auto& layers = folded_.layers();
  std::vector<bool> reached(layers.size());
  std::set<std::string> readers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool fed =
        std::ranges::any_of(layers[i].inputs, [&](int input) { return reached[static_cast<std::size_t>(input)]; });
    if (fed && has_weights(layers[i])) readers.insert(layers[i].name);
    reached[i] = layers[i].name == layer || (fed && !has_weights(layers[i]));
  }
  return readers;
}

float Quantizer::activation_scale(const std::string& layer, bool is_signed) const {
  const network::Levels levels = network::activation_levels(is_signed);
  float range = range_of(seen_.at(layer).magnitudes, levels, options_.ranges);
  for (const std::set<std::string>& group : shared_) {
    if (!group.contains(layer)) continue;
    for (const std::string& other : group) {
      range = std::max(range, range_of(seen_.at(other).magnitudes, levels, options_.ranges));
    }
  }
  return range > 0 ? std::max(range / levels.most, network::kLeastScale) : 1;
}

QuantizedModel Quantizer::quantized(const std::set<std::string>& kept) const {
  std::set<std::string> all_kept = kept;
  for (const std::string& layer : unusable_) all_kept.merge(readers_of(layer));
  QuantizationScheme scheme = network::choose_quantization(folded_, options_.weight_bits, all_kept);
  for (const std::string& layer : unusable_) scheme.activations.erase(layer);
  QuantizedModel model(network::with_quantization(folded_, scheme));
  model.state = state_;
  for (const auto& [layer, is_signed] : scheme.activations) {
    model.state.insert_or_assign(network::quantizer_name(layer) + ".scale",
                                 HostTensor::of_floats({1}, {activation_scale(layer, is_signed)}));
  }
  for (const Layer& layer : folded_.layers()) {
    const auto bits = scheme.weight_bits.find(layer.name);
    if (bits == scheme.weight_bits.end()) continue;
    model.state.insert_or_assign(layer.name + ".weight_scale",
                                 weight_scales(model.state.at(layer.name + ".weight"), bits->second));
    if (options_.bias_correction) correct_bias(layer, bits->second, model.state);
  }
  model.scheme = std::move(scheme);
  return model;
}

/// The mean that each output channel gains by the rounding of its weights is taken off its bias: the sum of what the
/// weights differ by, times the mean of what they are multiplied with.
void Quantizer::correct_bias(const Layer& layer, int bits, TensorMap& state) const {
  const auto found = state.find(layer.name + ".bias");
  if (found == state.end()) return;
  const Layer& input = input_of(folded_, layer);
  const Seen& seen = seen_.at(input.name);
  const HostTensor &weight = state.at(layer.name + ".weight"), &scale = state.at(layer.name + ".weight_scale");
  const HostTensor rounded = network::dequantized_weights(network::quantized_weights(weight, scale, bits), scale);
  const network::Conv2d* conv = conv_of(layer);
  const std::vector<double> shares =
      conv != nullptr ? shares_inside(*conv, input.shape, layer.shape) : std::vector<double>{1};
  const auto outputs = static_cast<std::size_t>(weight.shape[0]), inputs = static_cast<std::size_t>(weight.shape[1]);
  const std::size_t groups = conv != nullptr ? static_cast<std::size_t>(conv->groups) : 1;
  HostTensor bias = found->second;
  std::size_t i = 0;
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::size_t first = o / (outputs / groups) * inputs;
    double shift = 0;
    for (std::size_t c = 0; c < inputs; ++c) {
      const double mean = seen.channel_sums[first + c] / seen.values_per_channel;
      for (const double share : shares) {
        shift += (static_cast<double>(rounded.floats()[i]) - weight.floats()[i]) * mean * share;
        ++i;
      }
    }
    const double corrected = bias.floats()[o] - shift;
    if (std::isfinite(corrected)) bias.floats()[o] = static_cast<float>(corrected);
  }
  found->second = std::move(bias);
}

std::vector<LayerError> Quantizer::layer_errors(const QuantizedModel& model, std::size_t images) const {
  const std::vector<std::string> names = layers_with_weights(folded_);
  std::vector<TensorMap> wanted;
  inference::observe_results(probe_, folded_, state_, names, samples_, images,
                             [&](const TensorMap& results, auto) { wanted.push_back(results); });
  std::map<std::string, SignalToNoise> ratios;
  std::size_t batch = 0;
  inference::observe_results(probe_, model.network, model.state, names, samples_, images,
                             [&](const TensorMap& results, auto) {
                               for (const std::string& name : names) {
                                 const HostTensor &before = wanted[batch].at(name), &after = results.at(name);
                                 const auto count = static_cast<std::size_t>(element_count(before.shape));
                                 ratios[name].add({before.floats(), count}, {after.floats(), count});
                               }
                               ++batch;
                             });
  std::vector<LayerError> errors;
  for (const std::string& name : names) {
    errors.push_back({name, ratios[name].decibels(), model.scheme.weight_bits.contains(name)});
  }
  return errors;
}

std::vector<std::string> Quantizer::by_sensitivity(std::size_t images) const {
  const std::vector<std::string> names = layers_with_weights(folded_);
  const std::set<std::string> all(names.begin(), names.end());
  std::vector<TensorMap> wanted;
  inference::observe_results(probe_, folded_, state_, {}, samples_, images,
                             [&](const TensorMap& results, auto) { wanted.push_back(results); });
  std::vector<std::pair<double, std::string>> ratios;
  for (const std::string& layer : all) {
    std::set<std::string> others = all;
    others.erase(layer);
    const QuantizedModel model = quantized(others);
    SignalToNoise ratio;
    std::size_t batch = 0;
    inference::observe_results(probe_, model.network, model.state, {}, samples_, images,
                               [&](const TensorMap& results, auto) {
                                 for (const auto& [output, before] : wanted[batch]) {
                                   const auto count = static_cast<std::size_t>(element_count(before.shape));
                                   ratio.add({before.floats(), count}, {results.at(output).floats(), count});
                                 }
                                 ++batch;
                               });
    ratios.emplace_back(ratio.decibels(), layer);
  }
  std::ranges::sort(ratios);
  std::vector<std::string> layers;
  for (auto& [ratio, layer] : ratios) layers.push_back(std::move(layer));
  return layers;
}

std::set<std::string> Quantizer::matching(const std::string& pattern) const {
  return inference::layers_named(pattern, layers_with_weights(folded_), other_names_, folded_.model());
}

network::QuantizationScheme scheme_for(const network::Network& network, int weight_bits) {
  return network::choose_quantization(network::fold_batch_norm(network), weight_bits, {});
}

TensorMap calibrated_state(const network::Network& network, const TensorMap& state, int weight_bits,
                           const data::ChannelStatistics& normalization, const data::Samples& samples, int threads) {
  QuantizeOptions options;
  options.weight_bits = weight_bits;
  const auto found = answer_in_child([&] {
    const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
    const Quantizer quantizer({*engine, normalization, threads}, network, state, samples, options);
    const QuantizedModel model = quantizer.quantized({});
    // The first of them spoils those behind it.
    for (const network::Layer& layer : quantizer.folded().layers()) {
      if (!quantizer.not_finite().contains(layer.name)) continue;
      throw Error("'" + layer.name +
                  "' gives values that are not finite on the training images, so that it has no range to be quantised "
                  "in: look at the weights, and at how images are normalised (--normalize)");
    }
    return found_values(model, quantizer.folded_state());
  });
  network::NetworkWithState folded = network::fold_batch_norm(network, state);
  for (const auto& [name, floats] : found) {
    folded.state.insert_or_assign(name, HostTensor::of_floats({static_cast<std::int64_t>(floats.size())}, floats));
  }
  return std::move(folded.state);
}

}  // namespace evener::quantization
