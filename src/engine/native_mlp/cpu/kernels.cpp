#include "engine/native_mlp/cpu/kernels.h"

#include "base/simd_level.h"

namespace evener::engine::native_mlp {

const MlpKernels& float_kernels() {
  if (simd_level() == SimdLevel::kAvx512) return avx512::table;
  return simd_level() == SimdLevel::kAvx2 ? avx2::table : baseline::table;
}

const MlpKernels* bfloat16_kernels() {
  return has_bfloat16_products() ? &avx512_bf16::table : nullptr;
}

}  // namespace evener::engine::native_mlp
