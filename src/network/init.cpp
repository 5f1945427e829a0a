// Initial values and the check of given ones. tests/golden/make_golden.py computes the same values in numpy.
#include "network/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>
#include <thread>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/random.h"

namespace evener::network {
namespace {

constexpr std::int64_t kWorthThreads = 1'000'000;  // parameters below this are done before a thread has started
constexpr std::size_t kNamesShown = 6;

bool is_counter(const Parameter& parameter) {
  return parameter.name.ends_with(".num_batches_tracked");
}

// Both values of each Box-Muller pair are used: half the logarithms, and ResNet-34 has 21 million values.
void fill_normal(std::vector<float>& values, double deviation, Random random) {
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const double u = random.uniform();
    const double angle = 2 * std::numbers::pi * random.uniform();
    const double radius = deviation * std::sqrt(-2 * std::log(1 - u));
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

// Marks the layers whose parameters decide how many values an output has: those with parameters that feed an output
// with only layers without parameters between. `only`: the output of that name; "": every output.
std::vector<bool> head_layers(const Network& network, std::string_view only = "") {
  const std::vector<Layer>& layers = network.layers();
  std::vector<bool> has_parameters(layers.size()), reached(layers.size()), head(layers.size());
  for (const Parameter& parameter : network.parameters()) {
    has_parameters[static_cast<std::size_t>(parameter.layer)] = true;
  }
  for (const Output& output : network.outputs()) {
    if (only.empty() || output.name == only) reached[static_cast<std::size_t>(output.layer)] = true;
  }
  for (std::size_t i = layers.size(); i-- > 0;) {  // a layer stands after all that feed it
    if (!reached[i]) continue;
    head[i] = has_parameters[i];
    if (head[i]) continue;
    for (const int input : layers[i].inputs) reached[static_cast<std::size_t>(input)] = true;
  }
  return head;
}

// "a, b, c and 4 more"
std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

/// 1 for NaN and infinities (all bits of their exponent are set), 0 for other values.
std::uint32_t is_not_finite(float value) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  return (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1 : 0;
}

/// The number of image channels that a first convolution was trained with, if only that makes its shape differ;
/// otherwise 0.
std::int64_t trained_channels(const Network& network, const Parameter& wanted, const HostTensor& found) {
  if (wanted.shape.size() != 4 || found.shape.size() != 4 || &wanted != &network.parameters().front()) return 0;
  auto shape = found.shape;
  shape[1] = wanted.shape[1];
  const bool is_usual = found.shape[1] == 1 || found.shape[1] == 3;
  return shape == wanted.shape && is_usual ? found.shape[1] : 0;
}

/// Converts a counter to a scalar of int64: other programs write it as a list of one number, or in the type of weights.
HostTensor as_counter(HostTensor tensor) {
  if (element_count(tensor.shape) != 1) return tensor;
  tensor.shape.clear();
  if (tensor.dtype == DType::kI64) return tensor;
  std::int32_t whole = 0;
  if (tensor.dtype == DType::kI32) {
    std::memcpy(&whole, tensor.bytes.data(), sizeof whole);
    return HostTensor::scalar_i64(whole);
  }
  if (tensor.dtype == DType::kU8 || tensor.dtype == DType::kI8) return tensor;
  const float value = *tensor.to_floats().floats();
  constexpr float kMost = 1e18F;
  return std::isfinite(value) && std::abs(value) < kMost ? HostTensor::scalar_i64(static_cast<std::int64_t>(value))
                                                         : tensor;
}

}  // namespace

std::int64_t first_not_finite(const HostTensor& tensor) {
  if (tensor.dtype != DType::kF32) return -1;
  const std::int64_t count = element_count(tensor.shape);
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const float* const first = tensor.floats() + begin;
    const float* const last = first + std::min(kBlock, count - begin);
    std::uint32_t unusable = 0;  // tests whole blocks without a branch per value, so that compilers vectorise it
    for (const float* value = first; value != last; ++value) unusable |= is_not_finite(*value);
    if (unusable != 0) return begin + (std::find_if(first, last, is_not_finite) - first);
  }
  return -1;
}

HostTensor initial_value(const Parameter& parameter, std::uint64_t seed) {
  if (is_counter(parameter)) return HostTensor::scalar_i64(0);
  std::vector<float> values(static_cast<std::size_t>(element_count(parameter.shape)));
  Random random(seed, Purpose::kInit, hash_text(parameter.name));
  const auto fan = static_cast<double>(parameter.fan);
  switch (parameter.init) {
    case Init::kZeros:
      break;
    case Init::kOnes:
      std::ranges::fill(values, 1.0F);
      break;
    case Init::kQuarters:
      std::ranges::fill(values, 0.25F);
      break;
    case Init::kHeNormalFanOut:
      fill_normal(values, std::sqrt(2 / fan), random);
      break;
    case Init::kNormal:
      fill_normal(values, parameter.deviation, random);
      break;
    case Init::kUniformFanIn: {
      const double bound = 1 / std::sqrt(fan);
      for (float& value : values) value = static_cast<float>(random.uniform(-bound, bound));
      break;
    }
  }
  return HostTensor::of_floats(parameter.shape, values);
}

TensorMap initial_state(const Network& network, std::uint64_t seed) {
  const std::vector<Parameter>& parameters = network.parameters();
  std::vector<HostTensor> values(parameters.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < parameters.size(); i = next++) values[i] = initial_value(parameters[i], seed);
  };
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters) count += element_count(parameter.shape);
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; count > kWorthThreads && i < usable_cores(); ++i) helpers.emplace_back(work);
    work();
  }
  TensorMap state;
  for (std::size_t i = 0; i < parameters.size(); ++i) state.emplace(parameters[i].name, std::move(values[i]));
  return state;
}

void check_state(const Network& network, const TensorMap& state, const std::string& source) {
  std::vector<std::string> missing, extra, misshapen, mistyped, unusable;
  std::string advice;
  std::set<std::string> known;
  for (const Parameter& parameter : network.parameters()) {
    known.insert(parameter.name);
    const auto found = state.find(parameter.name);
    if (found == state.end()) {
      missing.push_back(parameter.name);
    } else if (found->second.shape != parameter.shape) {
      misshapen.push_back(fmt::format("{} is {} and should be {}", parameter.name, shape_text(found->second.shape),
                                      shape_text(parameter.shape)));
      if (const std::int64_t channels = trained_channels(network, parameter, found->second)) {
        advice = fmt::format("\n  the weights are for images with {}: give --channels {}", counted(channels, "channel"),
                             channels);
      }
    } else if (found->second.dtype != (is_counter(parameter) ? DType::kI64 : DType::kF32)) {
      mistyped.push_back(parameter.name);
    } else if (const std::int64_t at = first_not_finite(found->second); at >= 0) {
      unusable.push_back(fmt::format("{} (value {} is {})", parameter.name, at, found->second.floats()[at]));
    }
  }
  for (const auto& [name, tensor] : state) {
    if (!known.contains(name)) extra.push_back(printable(name));
  }
  std::string problems;
  const auto report = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) problems += fmt::format("\n  {} ({}): {}", what, names.size(), join(names));
  };
  report("missing", missing);
  report("not in the network", extra);
  report("of another shape", misshapen);
  report("neither float32 nor a counter's int64", mistyped);
  report("with NaN or infinity", unusable);
  if (problems.empty()) return;
  throw Error(fmt::format("{} does not fit {} with input {} and {}:{}", source, network.model(),
                          shape_text(network.input_shape()), outputs_text(network), problems + advice));
}

HeadOutputs head_outputs(const Network& network, const TensorMap& given) {
  const std::vector<bool> head = head_layers(network, network.anchors().empty() ? "" : "scores");
  for (const Parameter& parameter : network.parameters()) {
    const auto found = given.find(parameter.name);
    if (found == given.end() || !head[static_cast<std::size_t>(parameter.layer)]) continue;
    if (found->second.shape.empty() || parameter.shape.empty()) continue;
    const HeadOutputs values{parameter.shape[0], found->second.shape[0]};
    if (network.anchors().empty()) return values;
    // Each cell has the scores of its anchors, of which there are as many whatever the classes.
    const std::int64_t classes = detected_classes(network);
    const std::int64_t anchors = values.of_network / (classes + 1);
    if (anchors == 0 || values.of_network % (classes + 1) != 0 || values.of_file % anchors != 0) return {};
    if (values.of_file / anchors < 2) return {};
    return {classes, values.of_file / anchors - 1};
  }
  return {};
}

FittedState fit_state(const Network& network, TensorMap given, const std::string& source, std::uint64_t seed) {
  FittedState result;
  result.file_outputs = head_outputs(network, given).of_file;
  const std::vector<bool> head = head_layers(network);
  for (const Parameter& parameter : network.parameters()) {
    const auto found = given.find(parameter.name);
    if (found == given.end()) {
      if (!is_counter(parameter)) continue;
      given.emplace(parameter.name, HostTensor::scalar_i64(0));
      ++result.new_counters;
      continue;
    }
    HostTensor& tensor = found->second;
    if (is_counter(parameter)) tensor = as_counter(std::move(tensor));
    const bool convertible = tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16 || tensor.dtype == DType::kF64;
    if (convertible && !is_counter(parameter)) {
      tensor = tensor.to_floats();
      ++result.converted;
    }
    if (!head[static_cast<std::size_t>(parameter.layer)] || tensor.shape.empty() || parameter.shape.empty()) continue;
    Shape ours = tensor.shape;
    ours[0] = parameter.shape[0];
    if (ours == tensor.shape || ours != parameter.shape) continue;
    tensor = initial_value(parameter, seed);
    result.new_head.push_back(parameter.name);
  }
  check_state(network, given, source);
  result.state = std::move(given);
  return result;
}

}  // namespace evener::network
