// The operations that depend on the precision, for units of one float32. level.cpp includes this or bf16.h.
#pragma once

#include "engine/native_mlp/cpu/registers.h"

namespace evener::engine::native_mlp {
namespace {

/// sum + a * b; `a` is one unit for all lanes.
[[gnu::always_inline]] inline Vector multiply_add(Vector sum, Unit a, Vector b) {
  return sum + a * b;
}

/// The nearest bfloat16 of each value in the lower half of its lane; ties to even. NaNs that arithmetic makes stay so.
[[gnu::always_inline]] inline Bits rounded(Vector value) {
  const Bits bits = bits_of(value);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

/// One register's values as consecutive bfloat16.
[[gnu::always_inline]] inline void store_rounded(void* to, Vector value) {
  const Half half = __builtin_convertvector(rounded(value), Half);
  __builtin_memcpy(to, &half, sizeof(half));
}

}  // namespace
}  // namespace evener::engine::native_mlp
