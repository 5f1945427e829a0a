#include "network/quantization.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace evener::network {
namespace {

/// The number of values of `tensor` for each scale. Throws Error where the shapes don't go together.
std::size_t values_per_scale(const HostTensor& tensor, const HostTensor& scale) {
  if (tensor.shape.empty() || scale.dtype != DType::kF32 || scale.shape.size() != 1 ||
      scale.shape.front() != tensor.shape.front() || scale.shape.front() < 1) {
    throw Error("weights of " + shape_text(tensor.shape) + " can't have scales of " + shape_text(scale.shape) +
                ", but only one for each output channel");
  }
  return static_cast<std::size_t>(element_count(tensor.shape) / scale.shape.front());
}

float step(const HostTensor& scale, std::size_t channel) {
  return std::max(scale.floats()[channel], kLeastScale);
}

}  // namespace

HostTensor quantized_weights(const HostTensor& weight, const HostTensor& scale, int bits) {
  const std::size_t each = values_per_scale(weight, scale);
  const Levels levels = weight_levels(bits);
  HostTensor whole{DType::kI8, weight.shape, std::vector<std::byte>(weight.bytes.size() / sizeof(float))};
  for (std::size_t i = 0; i < whole.bytes.size(); ++i) {
    const auto level = static_cast<std::int8_t>(quantized(weight.floats()[i], step(scale, i / each), levels));
    whole.bytes[i] = static_cast<std::byte>(level);
  }
  return whole;
}

HostTensor dequantized_weights(const HostTensor& levels, const HostTensor& scale) {
  const std::size_t each = values_per_scale(levels, scale);
  std::vector<float> values(levels.bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<std::int8_t>(levels.bytes[i])) * step(scale, i / each);
  }
  return HostTensor::of_floats(levels.shape, values);
}

}  // namespace evener::network
