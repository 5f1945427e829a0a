// Winograd convolutions with products of bfloat16 (AVX512-BF16).
#include "engine/kernels/levels.h"
#include "engine/kernels/winograd_kernels.h"

namespace evener::engine::kernels {
namespace {

/// The arithmetic of multiply_tile (tile_product.h) on units of two bfloat16, held in the bits of a float.
struct PairMath {
  using Vector = WidestFloat;
  using Unit = float;
  static constexpr int kLanes = kWidestLanes;
  [[gnu::always_inline]] static Vector load(const float* from) { return kernels::load<WidestLanes>(from); }
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, float a, Vector b) {
    const __m512 pairs = _mm512_set1_ps(a);
    return reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(pairs),
                                                     reinterpret_cast<__m512bh>(b)));
  }
};

/// F(2x2, 3x3) with products of bfloat16.
struct PairProducts : TwoByTwo {
  static constexpr WinogradProducts kProducts = WinogradProducts::kBFloat16;
  static constexpr int kInUnit = 2;
  using Math = PairMath;

  [[gnu::always_inline]] static __m256i rounded(WidestFloat values) {
    return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(values)));
  }
  [[gnu::always_inline]] static void put_channels(float* to, std::int64_t channel, WidestFloat values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to + channel / kInUnit), rounded(values));
  }
  [[gnu::always_inline]] static void put(float* to, WidestFloat value, std::int64_t place) {
    __m512i units = _mm512_cvtepu16_epi32(rounded(value));
    if (place == 1) units = _mm512_or_si512(_mm512_loadu_si512(to), _mm512_slli_epi32(units, 16));
    _mm512_storeu_si512(to, units);
  }
};

}  // namespace

namespace avx512_bf16 {
constinit const WinogradKernels<BFloat16> winograd_kernels = winograd_kernels_of<PairProducts, BFloat16>();
}  // namespace avx512_bf16

}  // namespace evener::engine::kernels
