// The arithmetic of quantised values, as engines compute it and int8 kernels do: a value is a scale times a whole
// number within bounds. Symmetric: zero is always a value.
#pragma once

#include <cmath>

#include "base/tensor.h"

namespace evener::network {

/// The least and the largest whole number.
struct Levels {
  float least = 0, most = 0;
};

/// Of activations: all that a byte holds.
constexpr Levels activation_levels(bool is_signed) {
  return is_signed ? Levels{-128, 127} : Levels{0, 255};
}

/// Of weights: as many below zero as above it, so that sums of products with them have no bias.
constexpr Levels weight_levels(int bits) {
  const auto most = static_cast<float>((1 << (bits - 1)) - 1);
  return {-most, most};
}

/// The whole number nearest to value / scale, halves to the even one, within the levels.
inline float quantized(float value, float scale, Levels levels) {
  return std::fmin(std::fmax(std::nearbyint(value / scale), levels.least), levels.most);
}

/// What a quantised value stands for.
inline float fake_quantized(float value, float scale, Levels levels) {
  return quantized(value, scale, levels) * scale;
}

/// Scales below this are taken as this: learning may lead one to zero and beyond.
constexpr float kLeastScale = 1e-9F;

/// The whole numbers (int8) that `weight` (O, ...) is nearest to in steps of `scale` (O), both float32. Throws Error
/// where their shapes don't go together.
HostTensor quantized_weights(const HostTensor& weight, const HostTensor& scale, int bits);

/// What these stand for (float32).
HostTensor dequantized_weights(const HostTensor& levels, const HostTensor& scale);

}  // namespace evener::network
