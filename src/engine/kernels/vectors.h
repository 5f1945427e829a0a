// Inside engine/kernels: vectors of 16, 8 or 1 float32 in registers, loaded from and stored to float32 or bfloat16.
// Everything has internal linkage and no standard template is used: each level is compiled for another instruction set,
// and a function that the linker merged across levels would run AVX-512 on processors that lack it.
#pragma once

#include <immintrin.h>

#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {
namespace {

template <int N>
struct Lanes;

template <>
struct Lanes<16> {
  using Float = float __attribute__((vector_size(64)));
  using Bits = std::uint32_t __attribute__((vector_size(64)));
  using Half = std::uint16_t __attribute__((vector_size(32)));
};
template <>
struct Lanes<8> {
  using Float = float __attribute__((vector_size(32)));
  using Bits = std::uint32_t __attribute__((vector_size(32)));
  using Half = std::uint16_t __attribute__((vector_size(16)));
};
template <>
struct Lanes<1> {
  using Float = float;
  using Bits = std::uint32_t;
  using Half = std::uint16_t;
};

constexpr int kRegisterBytes = EVENER_KERNEL_REGISTER_BYTES;
constexpr bool kAvx512 = kRegisterBytes == 64;

/// Widens 16-bit values to 32 bits. For the widest vectors __builtin_convertvector would take twice the instructions.
template <class L>
[[gnu::always_inline]] inline typename L::Bits widen(typename L::Half half) {
  if constexpr (sizeof(half) == 2) {
    return half;
  } else if constexpr (kAvx512 && sizeof(half) == 32) {
    return reinterpret_cast<typename L::Bits>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(half)));
  } else {
    return __builtin_convertvector(half, typename L::Bits);
  }
}

/// The lower halves of 32-bit values.
template <class L>
[[gnu::always_inline]] inline typename L::Half narrow(typename L::Bits bits) {
  if constexpr (sizeof(bits) == 4) {
    return static_cast<typename L::Half>(bits);
  } else if constexpr (kAvx512 && sizeof(bits) == 64) {
    return reinterpret_cast<typename L::Half>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(bits)));
  } else {
    return __builtin_convertvector(bits, typename L::Half);
  }
}

template <class L>
[[gnu::always_inline]] inline typename L::Float load(const float* from) {
  typename L::Float value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

template <class L>
[[gnu::always_inline]] inline typename L::Float load(const BFloat16* from) {
  typename L::Half half;
  __builtin_memcpy(&half, from, sizeof(half));
  const typename L::Bits bits = widen<L>(half) << 16;
  typename L::Float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

template <class L>
[[gnu::always_inline]] inline void store(float* to, typename L::Float value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

/// Rounds to the nearest bfloat16, ties to even. The NaNs that arithmetic produces stay NaNs.
template <class L>
[[gnu::always_inline]] inline void store(BFloat16* to, typename L::Float value) {
  typename L::Bits bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const typename L::Half half = narrow<L>(bits);
  __builtin_memcpy(to, &half, sizeof(half));
}

/// The widest vectors: one register, or two on plain x86-64.
using WidestLanes = Lanes<kAvx512 ? 16 : 8>;
using WidestFloat = WidestLanes::Float;
constexpr int kWidestLanes = kAvx512 ? 16 : 8;

/// The arithmetic of multiply_tile (tile_product.h) on the widest vectors.
struct WidestMath {
  using Vector = WidestFloat;
  using Unit = float;
  static constexpr int kLanes = kWidestLanes;
  [[gnu::always_inline]] static Vector load(const float* from) { return kernels::load<WidestLanes>(from); }
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, float a, Vector b) { return sum + a * b; }
};

/// Stores past the caches. An ordinary store would first read the rest of each line from memory, and fill the caches
/// with values that are evicted before anybody reads them. `to` has to be aligned to the vector's size.
template <class L, class T>
[[gnu::always_inline]] inline void stream(T* to, typename L::Float value) {
  if constexpr (kAvx512 && sizeof(value) == 64 && sizeof(T) == 4) {
    _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
  } else if constexpr (kAvx512 && sizeof(value) == 64) {
    typename L::Half half;
    store<L>(reinterpret_cast<BFloat16*>(&half), value);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(half));
  } else if constexpr (kRegisterBytes >= 32 && sizeof(value) == 32 && sizeof(T) == 4) {
    _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
  } else if constexpr (kRegisterBytes >= 32 && sizeof(value) == 32) {
    typename L::Half half;
    store<L>(reinterpret_cast<BFloat16*>(&half), value);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(half));
  } else {
    store<L>(to, value);
  }
}

/// Whether streaming `rows` of results pays, and their vectors are aligned for it.
template <class T>
bool streams(const T* to, std::int64_t rows, std::int64_t channels) {
  constexpr std::int64_t kLeastBytes = 4 << 20;
  return kRegisterBytes >= 32 && channels % 16 == 0 && reinterpret_cast<std::uintptr_t>(to) % 64 == 0 &&
         rows * channels * static_cast<std::int64_t>(sizeof(T)) >= kLeastBytes;
}

/// To be called after the last stream(): only then do other threads see the values in order.
inline void end_stream() {
  if constexpr (kRegisterBytes >= 32) _mm_sfence();
}

/// Clamps a value. A NaN stays a NaN.
template <class L>
[[gnu::always_inline]] inline typename L::Float clamped(typename L::Float value, Clamp clamp) {
  const typename L::Float low = clamp.low - typename L::Float{}, high = clamp.high - typename L::Float{};
  value = value < low ? low : value;
  return value > high ? high : value;
}

/// `value` where low < y < high, 0 elsewhere.
template <class L>
[[gnu::always_inline]] inline typename L::Float passed_by(Clamp clamp, typename L::Float y, typename L::Float value) {
  const typename L::Float low = clamp.low - typename L::Float{}, high = clamp.high - typename L::Float{};
  value = y > low ? value : typename L::Float{};
  return y < high ? value : typename L::Float{};
}

/// Calls body(Lanes<N>, first channel) for vectors that cover all channels. They are never wider than registers, since
/// compilers would keep such vectors in memory.
template <class Body>
[[gnu::always_inline]] inline void for_channels(std::int64_t channels, Body body) {
  std::int64_t c = 0;
  if constexpr (kAvx512) {
    for (; c + 16 <= channels; c += 16) body(Lanes<16>(), c);
  }
  for (; c + 8 <= channels; c += 8) body(Lanes<8>(), c);
  for (; c < channels; ++c) body(Lanes<1>(), c);
}

inline void zero(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = 0;
}

}  // namespace
}  // namespace evener::engine::kernels
