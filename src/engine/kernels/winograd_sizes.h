// Inside engine/kernels: the block sizes of winograd.h, chosen so that values that are read again are in the
// second-level cache.
#pragma once

#include "engine/kernels/winograd.h"

namespace evener::engine::kernels {

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
