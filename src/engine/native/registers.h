// Inside engine/native: registers of the level that is compiled. Everything has internal linkage: each level is
// compiled for another instruction set.
#pragma once

#include <immintrin.h>

#include "engine/native/kernels.h"

namespace evener::engine::native {
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
}  // namespace evener::engine::native
