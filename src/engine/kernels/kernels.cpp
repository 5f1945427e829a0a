#include "engine/kernels/kernels.h"

#include "base/simd_level.h"
#include "engine/kernels/levels.h"

namespace evener::engine::kernels {

const Kernels<float>& float_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::float_table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::float_table : baseline::float_table;
}

const Kernels<BFloat16>& bfloat16_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::bfloat16_table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::bfloat16_table : baseline::bfloat16_table;
}

std::int64_t filter_block(std::int64_t out_channels) {
  std::int64_t block = 8;
  while (out_channels % block != 0) --block;
  return block;
}

const RowKernels& row_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::row_table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::row_table : baseline::row_table;
}

const ProductKernels& product_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::product_table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::product_table : baseline::product_table;
}

}  // namespace evener::engine::kernels
