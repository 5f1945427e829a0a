// The widest vector instructions that this program's kernels may use here.
#pragma once

namespace evener {

enum class SimdLevel {
  kBaseline,  // x86-64 as every processor has it
  kAvx2,      // with fused multiply-adds
  kAvx512     // F, BW, VL and DQ
};

/// What the variable EVENER_SIMD, "avx2" or "baseline", allows at the most, so that such a processor can be tried on
/// another; kAvx512 where it says nothing.
SimdLevel widest_allowed_simd();

/// As far as widest_allowed_simd lets it. Found once.
SimdLevel simd_level();
/// "baseline", "avx2" or "avx512".
const char* simd_level_name();

/// Dot products of bfloat16 in 512 bits (AVX512-BF16).
bool has_bfloat16_products();
/// Dot products of int8 in 32 bits (VNNI, AMX). Without them sums of two products have 16 bits, which two of 255 * 127
/// exceed: weights have to be half as large then. Where EVENER_SIMD holds to less there are none.
bool has_int8_products();
/// Products of tiles of bfloat16 (AMX), for which the kernel is asked once.
bool has_bfloat16_tiles();

}  // namespace evener
