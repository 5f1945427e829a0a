#include "task/quantize/weight_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "network/quantization.h"

namespace evener::task {
namespace {

constexpr int kManyBits = 7;
constexpr int kFirstScaleTried = 30, kLastScaleTried = 100;  // hundredths of the largest weight

double squared_error(std::span<const float> values, float scale, network::Levels levels) {
  double sum = 0;
  for (const float value : values) {
    const double error = static_cast<double>(network::fake_quantized(value, scale, levels)) - value;
    sum += error * error;
  }
  return sum;
}

float scale_of(std::span<const float> values, int bits) {
  const network::Levels levels = network::weight_levels(bits);
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 1;
  const float all = std::max(largest / levels.most, network::kLeastScale);
  if (bits >= kManyBits) return all;
  float best = all;
  double least = std::numeric_limits<double>::infinity();
  for (int tried = kLastScaleTried; tried >= kFirstScaleTried; --tried) {
    const float scale = std::max(all * static_cast<float>(tried) / 100, network::kLeastScale);
    const double error = squared_error(values, scale, levels);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

}  // namespace

HostTensor weight_scales(const HostTensor& weight, int bits) {
  const auto channels = static_cast<std::size_t>(weight.shape.front());
  const std::size_t each = static_cast<std::size_t>(element_count(weight.shape)) / channels;
  std::vector<float> scales;
  for (std::size_t c = 0; c < channels; ++c) scales.push_back(scale_of({weight.floats() + c * each, each}, bits));
  return HostTensor::of_floats({weight.shape.front()}, scales);
}

}  // namespace evener::task
