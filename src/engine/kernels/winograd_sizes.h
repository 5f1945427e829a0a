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

/// Tiles that a forward pass takes through all of its steps together.
constexpr std::int64_t winograd_block_tiles(const WinogradShape& s) {
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
