#include "engine/native_mlp/trainer_parts.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace evener::engine::native_mlp {
namespace {

constexpr const char* kMomentum = ".momentum";
constexpr const char* kAverage = ".average";
constexpr const char* kSteps = "optimizer.steps";

}  // namespace

PixelScale pixel_scale_of(const network::Network& network, const TrainerOptions& options) {
  const std::int64_t channels = network.input_shape().size() == 3 ? network.input_shape().front() : 1;
  return make_pixel_scale(options.mean, options.standard_deviation, channels);
}

void check_batch(const data::Batch& batch, std::int64_t inputs, std::int64_t classes) {
  const auto values = static_cast<std::int64_t>(batch.shape.bytes());
  if (values != inputs) {
    throw Error("an image of " + std::to_string(values) + " values (" + std::to_string(batch.shape.channels) + "x" +
                std::to_string(batch.shape.height) + "x" + std::to_string(batch.shape.width) +
                ") was given to a network that takes " + std::to_string(inputs));
  }
  const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
  const auto second_labels = mixed != nullptr ? mixed->second_labels : std::span<const std::int32_t>();
  for (const auto& labels : {data::class_labels(batch.targets), second_labels}) {
    for (const std::int32_t label : labels) {
      if (label >= 0 && label < classes) continue;
      throw Error("an image has class " + std::to_string(label) + ", but the network has " + std::to_string(classes) +
                  " outputs");
    }
  }
}

Trained::Trained(const Parameters& parameters) {
  for (std::size_t i = 0; i < parameters.entries().size(); ++i) {
    if (!parameters.entries()[i].trained) continue;
    entries.push_back(i);
    names.push_back(parameters.entries()[i].name);
  }
}

void report_layer(const Dense& layer, const Trained& trained, const std::function<void(std::size_t)>& ready) {
  if (!ready) return;
  for (std::size_t i = trained.entries.size(); i-- > 0;) {
    const bool of_bias = layer.bias && trained.entries[i] == layer.bias_parameter;
    if (of_bias || trained.entries[i] == layer.weight_parameter) ready(i);
  }
}

void clip_gradients(ExchangesGradients& gradients, double norm) {
  if (norm == 0) return;
  const std::size_t count = gradients.trained_parameters().size();
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (const float value : gradients.gradient(i)) squares += static_cast<double>(value) * value;
  }
  const double scale = norm / (std::sqrt(squares) + 1e-6);
  if (scale >= 1) return;
  for (std::size_t i = 0; i < count; ++i) {
    for (float& value : gradients.gradient(i)) value *= static_cast<float>(scale);
  }
}

double average_share(double decay, double step) {
  return 1 - std::min(decay, (1 + step) / (10 + step));
}

TensorMap optimizer_tensors(const Parameters& parameters, const Array& momentum, const Array& average, double steps) {
  TensorMap map;
  if (momentum) parameters.read(momentum, kMomentum, /*all=*/false, map);
  if (average) parameters.read(average, kAverage, /*all=*/false, map);
  if (!map.empty()) map.emplace(kSteps, HostTensor::of_floats({}, {static_cast<float>(steps)}));
  return map;
}

double read_optimizer_tensors(const TensorMap& from, const Parameters& parameters, const Array& momentum,
                              const Array& average) {
  constexpr const char* kWhat = "the optimiser state has";
  if (momentum) parameters.write(from, kMomentum, /*all=*/false, kWhat, momentum);
  if (average) parameters.write(from, kAverage, /*all=*/false, kWhat, average);
  if (!momentum && !average) return 0;
  const auto steps = from.find(kSteps);
  if (steps == from.end()) throw Error(std::string(kWhat) + " no '" + kSteps + "'");
  return steps->second.floats()[0];
}

}  // namespace evener::engine::native_mlp
