// Registers of the level that is compiled. Everything has internal linkage: each level is compiled for another
// instruction set.
#pragma once

#include <immintrin.h>

#include "engine/native_mlp/cpu/kernels.h"

namespace evener::engine::native_mlp {
namespace {

constexpr bool kPairs = EVENER_NATIVE_PAIRS;    // operands are pairs of bfloat16
constexpr int kLanes = EVENER_NATIVE_LANES;     // float32 in a register
constexpr int kTileRows = EVENER_NATIVE_ROWS;   // of a tile, as many as registers allow
constexpr int kWidest = EVENER_NATIVE_VECTORS;  // registers of a tile's row
constexpr std::int64_t kUnitValues = kPairs ? 2 : 1;

using Vector = float __attribute__((vector_size(4 * kLanes)));
using Bits = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using Half = std::uint16_t __attribute__((vector_size(2 * kLanes)));

[[gnu::always_inline]] inline Vector load(const float* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
[[gnu::always_inline]] inline void store(float* to, Vector value) {
  __builtin_memcpy(to, &value, sizeof(value));
}
/// Bytes as values. By intrinsics: g++ 12 converts vectors of bytes one by one.
template <int Lanes>
[[gnu::always_inline]] inline auto load_bytes(const std::uint8_t* from) {
  if constexpr (Lanes == 16) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  } else if constexpr (Lanes == 8) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadu_si64(from)));
  } else {
    const __m128i words = _mm_unpacklo_epi8(_mm_loadu_si32(from), __m128i{});
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, __m128i{}));
  }
}
[[gnu::always_inline]] inline Vector all(float value) {
  return value - Vector{};
}
[[gnu::always_inline]] inline Bits bits_of(Vector value) {
  Bits bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
[[gnu::always_inline]] inline Vector vector_of(Bits bits) {
  Vector value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace
}  // namespace evener::engine::native_mlp
