#include "engine/native_mlp/cpu/trainer_parts.h"

#include <algorithm>

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

}  // namespace evener::engine::native_mlp
