#include "engine/kernels/winograd.h"

#include <algorithm>

#include "base/simd_level.h"
#include "engine/kernels/levels.h"
#include "engine/kernels/winograd_sizes.h"

namespace evener::engine::kernels {
namespace {

constexpr std::int64_t kFrequencies = 36;

}  // namespace

bool winograd_supported(const WinogradShape& s) {
  return s.in_channels > 0 && s.in_channels % 16 == 0 && s.out_channels > 0 && s.out_channels % 16 == 0 &&
         s.padding >= 0 && s.padding <= 2 && s.out_height() > 0 && s.out_width() > 0;
}

std::int64_t winograd_scratch_values(const WinogradShape& shape) {
  const std::int64_t tiles = winograd_block_tiles(shape);
  return shape.in_channels + kFrequencies * winograd_input_step(shape, tiles) +
         WinogradPanels{tiles}.begin(winograd_group_channels(shape));
}

std::int64_t winograd_gradient_scratch_values(const WinogradShape& shape, std::int64_t channels) {
  const std::int64_t tiles = winograd_chunk_tiles(shape, channels);
  return std::max(shape.in_channels, shape.out_channels) + kFrequencies * winograd_input_step(shape, tiles) +
         WinogradPanels{tiles}.begin(channels);
}

const WinogradKernels& winograd_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::winograd_table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::winograd_table : baseline::winograd_table;
}

}  // namespace evener::engine::kernels
