// The arithmetic of quantised values, the same in engines and in int8 kernels: a value is a scale times a whole number
// within bounds. Quantisation is symmetric: there is no zero point, and zero is always representable.
#pragma once

#include <cmath>

#include "base/tensor.h"

namespace evener::network {

/// The least and the largest whole number.
struct Levels {
  float least = 0, most = 0;
};

/// The levels of activations: all values of a byte.
constexpr Levels activation_levels(bool is_signed) {
  return is_signed ? Levels{-128, 127} : Levels{0, 255};
}

/// The levels of weights: as many below zero as above it, so that rounding doesn't bias sums of products with them.
constexpr Levels weight_levels(int bits) {
  const auto most = static_cast<float>((1 << (bits - 1)) - 1);
  return {-most, most};
}

/// The whole number nearest to value / scale, halves to the even one, within the levels.
inline float quantized(float value, float scale, Levels levels) {
  return std::fmin(std::fmax(std::nearbyint(value / scale), levels.least), levels.most);
}

/// The value after quantising and dequantising it.
inline float fake_quantized(float value, float scale, Levels levels) {
  return quantized(value, scale, levels) * scale;
}

/// Smaller scales are replaced by this one: training may move a scale to zero or below.
constexpr float kLeastScale = 1e-9F;

/// Quantises `weight` (O, ...) to int8 with one `scale` (O) per output channel, both float32. Throws Error where their
/// shapes don't go together.
HostTensor quantized_weights(const HostTensor& weight, const HostTensor& scale, int bits);

/// The float32 values that quantised weights stand for: `levels` (O, ...) int8 times `scale` (O).
HostTensor dequantized_weights(const HostTensor& levels, const HostTensor& scale);

}  // namespace evener::network
