// The widest vector instructions that this program's kernels may use here.
#pragma once

namespace evener {

enum class SimdLevel {
  kBaseline,  // x86-64 as every processor has it
  kAvx2,      // with fused multiply-adds
  kAvx512     // F, BW, VL and DQ
};

/// The limit that the environment variable EVENER_SIMD sets, "avx2" or "baseline", so that the kernels for older
/// processors can be tested on newer ones; kAvx512 where it isn't set. "avx512_bf16" takes what is best for a processor
/// with fast_bfloat16_products() and without has_bfloat16_tiles(), such as AMD's Zen 4.
SimdLevel widest_allowed_simd();

/// The widest level that this processor has, but no wider than widest_allowed_simd(). Found once.
SimdLevel simd_level();
/// "baseline", "avx2" or "avx512".
const char* simd_level_name();

/// Whether there are dot products of bfloat16 in 512 bits (AVX512-BF16).
bool has_bfloat16_products();
/// Whether these do twice as many multiplications in a time as those of float32. AMD's processors start as many of
/// either; a Sapphire Rapids has half the rate of float32 (`evener doctor --peaks`: 88 and 177 GFLOP/s).
bool fast_bfloat16_products();
/// Whether there are dot products of int8 that add up in 32 bits (VNNI, AMX). Without them a sum of two products has 16
/// bits, which two of 255 * 127 overflow: weights may only use half of their range then. False where EVENER_SIMD sets a
/// limit.
bool has_int8_products();
/// Whether there are products of tiles of bfloat16 (AMX). Asks the operating system's kernel once for permission to use
/// them.
bool has_bfloat16_tiles();

}  // namespace evener
