// The operations that depend on the precision, for units of two bfloat16 (AVX512-BF16). See fp32.h.
#pragma once

#include "engine/native_mlp/cpu/registers.h"

namespace evener::engine::native_mlp {
namespace {

/// sum + the products of the units' two values; `a` is one unit for all lanes.
[[gnu::always_inline]] inline Vector multiply_add(Vector sum, Unit a, Vector b) {
  const __m512i unit = _mm512_castps_si512(_mm512_set1_ps(a));
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(unit), reinterpret_cast<__m512bh>(b));
}

/// The nearest bfloat16 of each value in the lower half of its lane; ties to even.
[[gnu::always_inline]] inline Bits rounded(Vector value) {
  return reinterpret_cast<Bits>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value))));
}

/// One register's values as consecutive bfloat16.
[[gnu::always_inline]] inline void store_rounded(void* to, Vector value) {
  const auto half = _mm512_cvtneps_pbh(value);
  __builtin_memcpy(to, &half, sizeof(half));
}

}  // namespace
}  // namespace evener::engine::native_mlp
