#include "engine/kernels/kernels.h"

#include <algorithm>

#include "base/simd_level.h"
#include "engine/kernels/levels.h"
#include "engine/kernels/winograd.h"

namespace evener::engine::kernels {
namespace {

/// The widest that this processor has.
const LevelKernels& level() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::level;
  return simd_level() == SimdLevel::kAvx2 ? avx2::level : baseline::level;
}

}  // namespace

const Kernels<float>& float_kernels() {
  return level().fp32;
}

const Kernels<BFloat16>& bfloat16_kernels() {
  return level().bf16;
}

const RowKernels& row_kernels() {
  return level().rows;
}

const ProductKernels& product_kernels() {
  return level().products;
}

std::int64_t filter_block(std::int64_t out_channels) {
  std::int64_t block = 8;
  while (out_channels % block != 0) --block;
  return block;
}

bool winograd_supported(const WinogradShape& s) {
  return s.in_channels > 0 && s.in_channels % 16 == 0 && s.out_channels > 0 && s.out_channels % 16 == 0 &&
         s.padding >= 0 && s.padding <= 2 && s.out_height() > 0 && s.out_width() > 0;
}

std::int64_t winograd_scratch_units(const WinogradShape& shape) {
  const std::int64_t tiles = winograd_block_tiles(shape), frequencies = shape.frequencies();
  return shape.in_channels + frequencies * winograd_input_step(shape, tiles) +
         WinogradPanels{frequencies, tiles}.begin(winograd_group_channels(shape));
}

std::int64_t winograd_gradient_scratch_units(const WinogradShape& shape, std::int64_t channels) {
  const std::int64_t tiles = winograd_chunk_tiles(shape, channels), frequencies = shape.frequencies();
  return std::max(shape.in_channels, shape.out_channels) + frequencies * winograd_input_step(shape, tiles) +
         WinogradPanels{frequencies, tiles / shape.values_in_unit()}.begin(channels);
}

const WinogradKernels<float>& winograd_kernels() {
  return level().winograd.fp32;
}

const WinogradKernels<BFloat16>& winograd_bfloat16_kernels(WinogradProducts products) {
  return products == WinogradProducts::kBFloat16 ? avx512_bf16::winograd_kernels : level().winograd.bf16;
}

}  // namespace evener::engine::kernels
