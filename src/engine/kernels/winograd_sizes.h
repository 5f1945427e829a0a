// Inside engine/kernels: how the work of winograd.h is cut, so that what is read again lies in the second-level cache.
#pragma once

#include "engine/kernels/winograd.h"

namespace evener::engine::kernels {

/// How 36 matrices of `rows` rows lie in panels of columns: panel after panel, in each frequency after frequency. A row
/// between two matrices keeps their distance from being a power of two, whose multiples share few sets of a cache.
struct WinogradPanels {
  std::int64_t rows;

  constexpr std::int64_t step(std::int64_t width) const { return (rows + 1) * width; }  // between two frequencies
  constexpr std::int64_t begin(std::int64_t column) const { return 36 * (rows + 1) * column; }
};

/// Whether the transformed weights are larger than second-level caches, so that each block of tiles reads them from
/// beyond. A forward pass then goes through them from the first to the last value, a frequency of all output channels
/// after the other, and takes more tiles at once.
constexpr bool winograd_streams_weights(const WinogradShape& s) {
  return s.in_channels >= 256;
}

/// Output channels whose products lie side by side in a forward pass.
constexpr std::int64_t winograd_group_channels(const WinogradShape& s) {
  return winograd_streams_weights(s) ? s.out_channels : kWinogradPanel;
}

/// Tiles that a forward pass takes through all of its steps together.
constexpr std::int64_t winograd_block_tiles(const WinogradShape& s) {
  if (winograd_streams_weights(s)) return 66;
  constexpr std::int64_t kValues = 192 << 10, kLeast = 48, kMost = 60;
  const std::int64_t fitting = kValues / (36 * s.in_channels) / 6 * 6;
  return fitting < kLeast ? kLeast : fitting > kMost ? kMost : fitting;
}

/// Tiles whose images lie transformed together for the gradient of the weights of so many output channels.
constexpr std::int64_t winograd_chunk_tiles(const WinogradShape& s, std::int64_t channels) {
  constexpr std::int64_t kValues = 256 << 10, kLeast = 48;
  const std::int64_t fitting = kValues / (36 * (s.in_channels + channels));
  return fitting < kLeast ? kLeast : fitting;
}

/// Values between two frequencies of so many transformed inputs.
constexpr std::int64_t winograd_input_step(const WinogradShape& s, std::int64_t tiles) {
  return tiles * s.in_channels + 16;
}

}  // namespace evener::engine::kernels
