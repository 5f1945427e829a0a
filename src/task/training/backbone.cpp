#include "task/training/backbone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "base/cpu.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/message.h"
#include "base/module.h"
#include "base/names.h"
#include "network/init.h"
#include "network/weight_names.h"
#include "network/zoo.h"
#include "task/quantize/probe.h"

namespace evener::task {
namespace {

using network::Network;
using network::Parameter;

constexpr const char* kClassifiersPart = "features.";  // of a classifier

const char* part_of(const Network& network) {
  return network.anchors().empty() ? kClassifiersPart : kDetectorsPart;
}

std::vector<const Parameter*> parameters_of(const Network& network, const char* part) {
  std::vector<const Parameter*> parameters;
  for (const Parameter& parameter : network.parameters()) {
    if (parameter.name.starts_with(part)) parameters.push_back(&parameter);
  }
  return parameters;
}

/// A convolution of the convolutional part, and the batch-norm after it: an index of a layer each; -1 = there is none.
struct NormedConvolution {
  std::size_t convolution = 0;
  int norm = -1;
};

std::vector<NormedConvolution> convolutions_of(const Network& network) {
  const auto& layers = network.layers();
  std::vector<NormedConvolution> found;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::holds_alternative<network::Conv2d>(layers[i].op) || !layers[i].name.starts_with(part_of(network)))
      continue;
    found.push_back({.convolution = i});
    if (i + 1 < layers.size() && std::holds_alternative<network::BatchNorm>(layers[i + 1].op)) {
      found.back().norm = static_cast<int>(i + 1);
    }
  }
  return found;
}

const std::string& norm_name(const Network& network, const NormedConvolution& each) {
  return network.layers()[static_cast<std::size_t>(each.norm)].name;
}

/// Sums over the values of each channel of (C, ...) results.
struct ChannelSums {
  std::vector<double> sum, squares;
  double count = 0;  // of each channel

  void add(std::span<const float> image, std::size_t channels) {
    sum.resize(channels);
    squares.resize(channels);
    const std::size_t each = image.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      for (const float value : image.subspan(c * each, each)) {
        sum[c] += value;
        squares[c] += static_cast<double>(value) * value;
      }
    }
    count += static_cast<double>(each);
  }
  std::vector<double> mean() const {
    std::vector<double> values;
    for (const double each : sum) values.push_back(each / count);
    return values;
  }
  std::vector<double> variance() const {
    std::vector<double> values;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double mean = sum[c] / count;
      values.push_back(std::max(0.0, squares[c] / count - mean * mean));
    }
    return values;
  }
};

/// Mean and variance of each channel of a layer's results, by the layer's name.
using LayerStatistics = std::map<std::string, std::tuple<std::vector<double>, std::vector<double>>>;

/// So many layers at a time that a batch's results stay small.
std::vector<std::vector<std::string>> in_portions(const Network& network) {
  constexpr std::int64_t kMostValues = 2'000'000;  // of an image
  std::vector<std::vector<std::string>> portions;
  std::int64_t values = kMostValues;
  for (const NormedConvolution& each : convolutions_of(network)) {
    if (each.norm < 0) continue;
    const std::int64_t more = element_count(network.layers()[static_cast<std::size_t>(each.norm)].shape);
    if (portions.empty() || values + more > kMostValues) {
      portions.emplace_back();
      values = 0;
    }
    values += more;
    portions.back().push_back(norm_name(network, each));
  }
  return portions;
}

LayerStatistics observed(const Network& network, const TensorMap& state, const data::ChannelStatistics& normalization,
                         const data::Samples& samples, int threads) {
  constexpr std::size_t kImages = 32;
  const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
  const Probe probe{*engine, normalization, threads};
  LayerStatistics statistics;
  for (const std::vector<std::string>& names : in_portions(network)) {
    std::map<std::string, ChannelSums> sums;
    const std::size_t seen =
        observe_results(probe, network, state, names, samples, kImages,
                        [&](const TensorMap& results, std::span<const std::size_t> indices) {
                          for (const std::string& name : names) {
                            const HostTensor& layer = results.at(name);
                            for (std::size_t i = 0; i < indices.size(); ++i) {
                              sums[name].add(values_of(layer, i), static_cast<std::size_t>(layer.shape[1]));
                            }
                          }
                        });
    if (seen == 0) throw Error("no training image can be read, of which batch-norms would have their statistics");
    for (const auto& [name, each] : sums) statistics[name] = {each.mean(), each.variance()};
  }
  return statistics;
}

bool has_beginning(const TensorMap& tensors, const std::string& part) {
  const auto first = tensors.lower_bound(part);
  return first != tensors.end() && first->first.starts_with(part);
}

}  // namespace

std::vector<std::string> adapt_to_network_or_backbone(const Network& network, weights::SafetensorsFile& file,
                                                      const std::string& source) {
  const std::string classifier = network::classifier_of(network.model());
  const bool may_be_classifiers =
      !classifier.empty() && !has_beginning(file.tensors, "backbone.") && !has_beginning(file.tensors, "head.");
  std::vector<std::string> notes = network::adapt_names(network, file, source);
  if (!may_be_classifiers || network::has_all_names(network, file.tensors)) return notes;
  return network::adapt_names(network::build(classifier, {}), file, source);
}

bool is_of_backbone(const Network& network, const TensorMap& given) {
  if (network.anchors().empty() || network::classifier_of(network.model()).empty()) return false;
  return has_beginning(given, kClassifiersPart) && !has_beginning(given, "backbone.") && !has_beginning(given, "head.");
}

Backbone backbone_of_classifier(const Network& network, TensorMap given, const std::string& source,
                                std::uint64_t seed) {
  const std::string model = network::classifier_of(network.model());
  const Network classifier = network::build(model, {.input = network.input_shape()});
  // Both are built by one function, so that their layers are the same in their order, if not in name and width.
  const auto ours = parameters_of(network, kDetectorsPart), theirs = parameters_of(classifier, kClassifiersPart);
  Backbone backbone{network::initial_state(network, seed), {}};
  std::size_t taken = 0, others = 0;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const auto found = given.find(theirs[i]->name);
    const bool is_counter = ours[i]->name.ends_with(".num_batches_tracked");
    if (found == given.end()) {
      if (!is_counter) missing.push_back(theirs[i]->name);
      continue;
    }
    if (found->second.shape != ours[i]->shape) {
      ++others;
      continue;
    }
    HostTensor& place = backbone.state.at(ours[i]->name);
    place = is_counter ? std::move(found->second) : found->second.to_floats();
    ++taken;
  }
  if (!missing.empty()) {
    throw Error(fmt::format("{} has no {} ({} of {} tensors are missing): it is no {}, which {} is built on", source,
                            missing.front(), missing.size(), theirs.size(), model, network.model()));
  }
  network::check_state(network, backbone.state, source);
  backbone.notes.push_back(
      fmt::format("{} tensors are those of the classifier {}; the levels after it and the heads begin with new values",
                  taken, model));
  if (others > 0) {
    backbone.notes.push_back(fmt::format(
        "{} more of the classifier's have another shape than the detector's, and begin with new values", others));
  }
  return backbone;
}

Backbone backbone_of_folded(const Network& network, const std::vector<weights::FoldedConvolution>& given,
                            const std::string& source, std::uint64_t seed) {
  const std::vector<NormedConvolution> ours = convolutions_of(network);
  if (ours.empty()) {
    throw UsageError(
        fmt::format("the weights of a TensorFlow Lite model fit networks with layers named {}..., such as "
                    "mobilenet_v2; {} has none",
                    kClassifiersPart, network.model()));
  }
  if (given.size() < ours.size()) {
    throw Error(fmt::format("{} has {} convolutions, {} needs {}", source, given.size(), network.model(), ours.size()));
  }
  Backbone backbone{network::initial_state(network, seed), {}};
  TensorMap& state = backbone.state;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string& name = network.layers()[ours[i].convolution].name;
    HostTensor& weight = state.at(name + ".weight");
    if (weight.shape != given[i].weight.shape) {
      throw Error(fmt::format("{} does not fit {}: its convolution {}, '{}', is {}, and {} is {}", source,
                              network.model(), i + 1, printable(given[i].name), shape_text(given[i].weight.shape), name,
                              shape_text(weight.shape)));
    }
    weight = given[i].weight;
    if (ours[i].norm < 0) {
      state.at(name + ".bias") = given[i].bias;
      continue;
    }
    const auto norm = static_cast<std::size_t>(ours[i].norm);
    const double epsilon = std::get<network::BatchNorm>(network.layers()[norm].op).epsilon;
    const std::string& after = network.layers()[norm].name;
    HostTensor& variance = state.at(after + ".running_var");
    std::fill_n(variance.floats(), element_count(variance.shape), static_cast<float>(1 - epsilon));
    state.at(after + ".bias") = given[i].bias;
  }
  network::check_state(network, state, source);
  backbone.notes.push_back(fmt::format(
      "{} convolutions are from the file, their batch-norms made anew from images; other layers begin with new values",
      ours.size()));
  return backbone;
}

void estimate_norms(const Network& network, TensorMap& state, const data::ChannelStatistics& normalization,
                    const data::Samples& samples, int threads) {
  const LayerStatistics statistics =
      answer_in_child([&] { return observed(network, state, normalization, samples, threads); });
  for (const NormedConvolution& each : convolutions_of(network)) {
    if (each.norm < 0) continue;
    const std::string& name = norm_name(network, each);
    const auto& op = std::get<network::BatchNorm>(network.layers()[static_cast<std::size_t>(each.norm)].op);
    const auto& [mean, variance] = statistics.at(name);
    float* const weight = state.at(name + ".weight").floats();
    float* const bias = state.at(name + ".bias").floats();
    float* const running_mean = state.at(name + ".running_mean").floats();
    float* const running_variance = state.at(name + ".running_var").floats();
    for (std::size_t c = 0; c < mean.size(); ++c) {
      // Before: result = input * factor + shift, of which mean and variance were seen. A channel that is always the
      // same, or a factor of 0, tells nothing: it is left as it is.
      const double factor = weight[c] / std::sqrt(running_variance[c] + op.epsilon);
      const double shift = bias[c] - running_mean[c] * factor;
      if (factor == 0 || variance[c] == 0) continue;
      const double input_variance = variance[c] / (factor * factor);
      running_mean[c] = static_cast<float>((mean[c] - shift) / factor);
      running_variance[c] = static_cast<float>(input_variance);
      weight[c] = static_cast<float>(factor * std::sqrt(input_variance + op.epsilon));
      bias[c] = static_cast<float>(mean[c]);
    }
  }
}

}  // namespace evener::task
