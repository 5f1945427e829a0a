#include "base/int8_products.h"

#include "base/simd_level.h"

namespace evener {

bool has_int8_products() {
  if (widest_allowed_simd() != SimdLevel::kAvx512) return false;
  // Processors with AMX have the first.
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
}

}  // namespace evener
