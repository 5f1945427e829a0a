// Convolutions of kernel 3 and stride 1 with fewer multiplications: Winograd's minimal filtering (Lavin and Gray 2015,
// arXiv 1509.09308). An output tile of 4x4 pixels comes from 6x6 inputs; transformed, both are 36 values between which
// there is a product for each pair of channels and nothing else, a quarter of the multiplications; 2x2 pixels come from
// 4x4 inputs by 16 values, four ninths of them. Channels-last images in float32 or bfloat16; transforms and sums are
// float32. Each function does a range of the work, so that any pool of threads can share it, and what it computes does
// not depend on the ranges.
#pragma once

#include <cstdint>

#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// Output channels that are computed together; transformed weights lie in panels of as many channels.
constexpr std::int64_t kWinogradPanel = 64;

/// What is multiplied between the transforms.
enum class WinogradProducts {
  kFloat32,  // float32, by F(4x4, 3x3)
  /// bfloat16, by F(2x2, 3x3), whose transforms lose little by being rounded; for images in bfloat16 and processors
  /// with has_bfloat16_products(). Operands lie in units of two values that follow each other in the sums.
  kBFloat16
};

struct WinogradShape {
  std::int64_t batch = 0, height = 0, width = 0;   // of the images that are read
  std::int64_t in_channels = 0, out_channels = 0;  // multiples of 16
  std::int64_t padding = 1;                        // 0 to 2, along all edges
  WinogradProducts products = WinogradProducts::kFloat32;

  std::int64_t out_height() const { return height + 2 * padding - 2; }
  std::int64_t out_width() const { return width + 2 * padding - 2; }
  constexpr std::int64_t tile_side() const { return products == WinogradProducts::kFloat32 ? 4 : 2; }  // output pixels
  std::int64_t tile_rows() const { return (out_height() + tile_side() - 1) / tile_side(); }
  std::int64_t tile_columns() const { return (out_width() + tile_side() - 1) / tile_side(); }
  std::int64_t tiles() const { return batch * tile_rows() * tile_columns(); }
  constexpr std::int64_t frequencies() const {
    return (tile_side() + 2) * (tile_side() + 2);
  }  // values of a transformed tile
  /// How many values of an operand a unit of four bytes holds.
  constexpr std::int64_t values_in_unit() const { return products == WinogradProducts::kFloat32 ? 1 : 2; }
  /// Units of the transformed weights.
  std::int64_t weight_units() const { return frequencies() * (in_channels / values_in_unit() + 1) * out_channels; }
  /// Values of the sums that the gradient of the weights is made of.
  std::int64_t sum_values() const { return frequencies() * (in_channels + 1) * out_channels; }

  /// The shape of the inputs' gradient, which is a convolution of the outputs' gradient with the rotated weights.
  WinogradShape turned() const {
    return {batch, out_height(), out_width(), out_channels, in_channels, 2 - padding, products};
  }
};

/// Whether the kernels are made for this: channels in multiples of 16, at least one output pixel.
bool winograd_supported(const WinogradShape& shape);

/// The strides of the weights of a 3x3 convolution: that of output channel o, input channel i, row r and column c is at
/// o * out + i * in + r * row + c * column.
struct WeightSteps {
  std::int64_t out, in, row, column;
};

/// Weights to be transformed, for a forward pass or (turned()) for the gradient of the inputs.
struct WinogradWeights {
  const float* weights;
  WeightSteps steps;
  std::int64_t in_channels, out_channels;

  /// The same weights, rotated and with input and output channels exchanged, for the gradient of the inputs.
  WinogradWeights turned() const {
    return {weights + 2 * steps.row + 2 * steps.column,
            {steps.in, steps.out, -steps.row, -steps.column},
            out_channels,
            in_channels};
  }
};

/// A forward pass: y = clamp(convolution of x + bias + residual). T is what images consist of.
template <class T>
struct WinogradForward {
  WinogradShape shape = {};
  const T* x = nullptr;
  const float* weights = nullptr;  // transformed, in units
  T* y = nullptr;
  const float* bias = nullptr;  // (out_channels); null = none
  const T* residual = nullptr;  // as y; null = none
  Clamp clamp = {};
};

/// The part of the outputs that one call computes.
struct WinogradPart {
  std::int64_t first_tile, last_tile;        // [first, last)
  std::int64_t first_channel, last_channel;  // [first, last); both multiples of kWinogradPanel, or the end
};

/// The contribution of some tiles to the gradient of the weights of some output channels: sums over the tiles, still in
/// transformed form.
template <class T>
struct WinogradGradient {
  WinogradShape shape;
  const T* x;
  const T* dy;
  float* sums;        // shape.sum_values(), of which those of these channels are written
  WinogradPart part;  // of the tiles and of the output channels
};

/// The kernels that read images of T, for shapes with `products`.
template <class T>
struct WinogradKernels {
  WinogradProducts products;
  /// `scratch`: winograd_scratch_units(shape) floats that no other thread uses.
  void (*forward)(const WinogradForward<T>& work, float* scratch, const WinogradPart& part);
  /// Overwrites the sums. `scratch`: winograd_gradient_scratch_units() floats that no other thread uses.
  void (*sum_gradient)(const WinogradGradient<T>& work, float* scratch);
  /// Transforms the weights of the output channels 16 * begin to 16 * end - 1.
  void (*transform_weights)(const WinogradWeights& from, float* transformed, std::int64_t begin, std::int64_t end);
  /// Computes the gradient of the weights of the output channels 16 * begin to 16 * end - 1 from the sums of all output
  /// channels.
  void (*finish_gradient)(const WinogradShape& shape, const float* sums, float* gradient, const WeightSteps& steps,
                          std::int64_t begin, std::int64_t end);
};

/// The kernels of one instruction set with products of float32.
struct WinogradTable {
  WinogradKernels<float> fp32;
  WinogradKernels<BFloat16> bf16;
};

/// Number of units that a call of WinogradKernels::forward needs as scratch: at most some 2 MB.
std::int64_t winograd_scratch_units(const WinogradShape& shape);
/// The same for a call of WinogradKernels::sum_gradient on `channels` output channels.
std::int64_t winograd_gradient_scratch_units(const WinogradShape& shape, std::int64_t channels);

/// The kernels for this processor; the second for images in bfloat16, with products that it has.
const WinogradKernels<float>& winograd_kernels();
const WinogradKernels<BFloat16>& winograd_bfloat16_kernels(WinogradProducts products);

/// How the matrices of all frequencies, `rows` rows each, lie in panels of columns: panel after panel, in each
/// frequency after frequency. A row between two matrices keeps their distance from being a power of two, whose
/// multiples share few sets of a cache.
struct WinogradPanels {
  std::int64_t frequencies, rows;

  constexpr std::int64_t step(std::int64_t width) const { return (rows + 1) * width; }  // between two frequencies
  constexpr std::int64_t begin(std::int64_t column) const { return frequencies * (rows + 1) * column; }
};

/// Whether the transformed weights exceed the second-level cache, so that each block of tiles reads them from farther
/// away. A forward pass then reads them sequentially, all output channels of one frequency after those of another, and
/// takes more tiles at once.
constexpr bool winograd_streams_weights(const WinogradShape& s) {
  return s.in_channels >= 256;
}

/// Output channels whose products lie side by side in a forward pass.
constexpr std::int64_t winograd_group_channels(const WinogradShape& s) {
  return winograd_streams_weights(s) ? s.out_channels : kWinogradPanel;
}

/// Number of tiles that a forward pass takes through all of its steps together.
constexpr std::int64_t winograd_block_tiles(const WinogradShape& s) {
  if (winograd_streams_weights(s)) return 66;
  if (s.products == WinogradProducts::kBFloat16) return 96;
  constexpr std::int64_t kUnits = 192 << 10, kLeast = 48, kMost = 60;
  const std::int64_t fitting = kUnits / (s.frequencies() * s.in_channels) / 6 * 6;
  return fitting < kLeast ? kLeast : fitting > kMost ? kMost : fitting;
}

/// Number of tiles that are kept in transformed form at once for the gradient of the weights of `channels` output
/// channels. An even number.
constexpr std::int64_t winograd_chunk_tiles(const WinogradShape& s, std::int64_t channels) {
  constexpr std::int64_t kUnits = 256 << 10, kLeast = 48;
  const std::int64_t fitting = kUnits * s.values_in_unit() / (s.frequencies() * (s.in_channels + channels)) / 2 * 2;
  return fitting < kLeast ? kLeast : fitting;
}

/// Number of units from one frequency to the next in `tiles` transformed inputs.
constexpr std::int64_t winograd_input_step(const WinogradShape& s, std::int64_t tiles) {
  return tiles * s.in_channels / s.values_in_unit() + 16;
}

}  // namespace evener::engine::kernels
