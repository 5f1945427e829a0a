#include "engine/native_mlp/cpu/mlp_trainer.h"

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

Trained::Trained(const Parameters& parameters) {
  for (std::size_t i = 0; i < parameters.entries().size(); ++i) {
    if (!parameters.entries()[i].trained) continue;
    entries.push_back(i);
    names.push_back(parameters.entries()[i].name);
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

MlpTrainer::MlpTrainer(const network::Network& network, const TrainerOptions& options)
    : options_(options),
      layers_(dense_layers(network)),
      inputs_(layers_.front().inputs),
      classes_(network.output_shape().front()),
      parameters_(network, layers_, layout_of(options)),
      trained_(parameters_) {}

std::span<float> MlpTrainer::gradient(std::size_t index) {
  const auto& entry = parameters_.entries().at(trained_.entries.at(index));
  if (!has_gradients_) throw Error("no gradient of '" + entry.name + "' yet");
  return {arrays_.gradients.data() + entry.offset, entry.size};
}

TensorMap MlpTrainer::gradients() const {
  TensorMap map;
  if (has_gradients_) parameters_.read(arrays_.gradients, "", /*all=*/false, map);
  return map;
}

Capabilities MlpTrainer::capabilities() {
  Capabilities capabilities;
  capabilities.exchange = this;
  capabilities.ahead = this;
  if (has_average()) capabilities.average = this;
  return capabilities;
}

void MlpTrainer::check_batch(const data::Batch& batch) const {
  const auto values = static_cast<std::int64_t>(batch.shape.bytes());
  if (values != inputs_) {
    throw Error("an image of " + std::to_string(values) + " values (" + std::to_string(batch.shape.channels) + "x" +
                std::to_string(batch.shape.height) + "x" + std::to_string(batch.shape.width) +
                ") was given to a network that takes " + std::to_string(inputs_));
  }
  const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
  const auto second_labels = mixed != nullptr ? mixed->second_labels : std::span<const std::int32_t>();
  for (const auto& labels : {data::class_labels(batch.targets), second_labels}) {
    for (const std::int32_t label : labels) {
      if (label >= 0 && label < classes_) continue;
      throw Error("an image has class " + std::to_string(label) + ", but the network has " + std::to_string(classes_) +
                  " outputs");
    }
  }
}

std::int32_t* MlpTrainer::room_for(std::int64_t count, std::vector<std::int32_t>* predicted) {
  if (predicted == nullptr) return nullptr;
  predicted->resize(predicted->size() + static_cast<std::size_t>(count));
  return predicted->data() + predicted->size() - count;
}

bool MlpTrainer::is_of(std::size_t layer, std::size_t parameter) const {
  const Dense& dense = layers_[layer];
  return parameter == dense.weight_parameter || (dense.bias && parameter == dense.bias_parameter);
}

void MlpTrainer::report_layer(std::size_t layer) const {
  if (!gradient_ready_) return;
  for (std::size_t i = trained_.entries.size(); i-- > 0;) {
    if (is_of(layer, trained_.entries[i])) gradient_ready_(i);
  }
}

void MlpTrainer::report_layers() const {
  for (std::size_t layer = layers_.size(); layer-- > 0;) report_layer(layer);
}

void MlpTrainer::clip_gradients() {
  const double norm = options_.optimizer.clip_norm;
  if (norm == 0) return;
  double squares = 0;
  for (std::size_t i = 0; i < trained_.entries.size(); ++i) {
    for (const float value : gradient(i)) squares += static_cast<double>(value) * value;
  }
  const double scale = norm / (std::sqrt(squares) + 1e-6);
  if (scale >= 1) return;
  for (std::size_t i = 0; i < trained_.entries.size(); ++i) {
    for (float& value : gradient(i)) value *= static_cast<float>(scale);
  }
}

}  // namespace evener::engine::native_mlp
