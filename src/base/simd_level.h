// The widest vector instructions that this program's kernels may use here.
#pragma once

namespace evener {

enum class SimdLevel {
  kBaseline,  // x86-64 as every processor has it
  kAvx2,      // with fused multiply-adds
  kAvx512     // F, BW, VL and DQ
};

/// The variable EVENER_SIMD, set to "avx2" or "baseline", says that there are no wider ones, so that such a processor
/// can be tried on another. Read once.
SimdLevel simd_level();
/// "baseline", "avx2" or "avx512".
const char* simd_level_name();

/// Dot products of bfloat16 in 512 bits (AVX512-BF16).
bool has_bfloat16_products();

}  // namespace evener
