#include "data/area_kernels.h"

#include <algorithm>
#include <array>

#include "base/simd_level.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace evener::data {

namespace {

void plain_add_rows(const std::uint8_t* in, std::size_t stride, std::int64_t rows, std::size_t values,
                    std::uint16_t* sums) {
  std::copy_n(in, values, sums);
  for (std::int64_t row = 1; row < rows; ++row) {
    in += stride;
    for (std::size_t i = 0; i < values; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + in[i]);
  }
}

/// From output `begin` on.
void plain_means_from(std::size_t begin, const std::uint16_t* sums, const AreaWindows& windows, float rows,
                      float* const* planes) {
  for (std::size_t x = begin; x < windows.count.size(); ++x) {
    const std::uint16_t* value = sums + windows.first[x];
    std::array<std::uint32_t, kColours> sum{};
    for (std::int32_t i = 0; i < windows.count[x]; ++i, value += kColours) {
      for (std::size_t c = 0; c < kColours; ++c) sum[c] += value[c];
    }
    for (std::size_t c = 0; c < kColours; ++c) planes[c][x] = static_cast<float>(sum[c]) / (windows.widths[x] * rows);
  }
}

void plain_colour_means(const std::uint16_t* sums, const AreaWindows& windows, float rows, float* const* planes) {
  plain_means_from(0, sums, windows, rows, planes);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i sixteen_values(const std::uint8_t* in) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in)));
}

__attribute__((target("avx2"))) void avx2_add_rows(const std::uint8_t* in, std::size_t stride, std::int64_t rows,
                                                   std::size_t values, std::uint16_t* sums) {
  std::size_t i = 0;
  for (; i + 64 <= values; i += 64) {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    const std::uint8_t* row = in + i;
    for (std::int64_t k = 0; k < rows; ++k, row += stride) {
      a = _mm256_add_epi16(a, sixteen_values(row));
      b = _mm256_add_epi16(b, sixteen_values(row + 16));
      c = _mm256_add_epi16(c, sixteen_values(row + 32));
      d = _mm256_add_epi16(d, sixteen_values(row + 48));
    }
    auto* const to = reinterpret_cast<__m256i*>(sums + i);
    _mm256_storeu_si256(to, a);
    _mm256_storeu_si256(to + 1, b);
    _mm256_storeu_si256(to + 2, c);
    _mm256_storeu_si256(to + 3, d);
  }
  plain_add_rows(in + i, stride, rows, values - i, sums + i);
}

/// The sums of a window's colours; the fourth value means nothing.
__attribute__((target("avx2"))) inline __m128 window_sum(const std::uint16_t* sums, std::int32_t pixels) {
  __m128i sum = _mm_setzero_si128();
  for (std::int32_t i = 0; i < pixels; ++i, sums += kColours) {
    sum = _mm_add_epi32(sum, _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(sums))));
  }
  return _mm_cvtepi32_ps(sum);
}

__attribute__((target("avx2"))) void avx2_colour_means(const std::uint16_t* sums, const AreaWindows& windows,
                                                       float rows, float* const* planes) {
  const __m128 all_rows = _mm_set1_ps(rows);
  std::size_t x = 0;
  for (; x + 4 <= windows.count.size(); x += 4) {
    __m128 a = window_sum(sums + windows.first[x], windows.count[x]);
    __m128 b = window_sum(sums + windows.first[x + 1], windows.count[x + 1]);
    __m128 c = window_sum(sums + windows.first[x + 2], windows.count[x + 2]);
    __m128 d = window_sum(sums + windows.first[x + 3], windows.count[x + 3]);
    _MM_TRANSPOSE4_PS(a, b, c, d);  // now a is red, b green, c blue
    const __m128 pixels = _mm_mul_ps(_mm_loadu_ps(windows.widths.data() + x), all_rows);
    _mm_storeu_ps(planes[0] + x, _mm_div_ps(a, pixels));
    _mm_storeu_ps(planes[1] + x, _mm_div_ps(b, pixels));
    _mm_storeu_ps(planes[2] + x, _mm_div_ps(c, pixels));
  }
  plain_means_from(x, sums, windows, rows, planes);
}

#endif

}  // namespace

const AreaKernels& plain_area_kernels() {
  static constexpr AreaKernels kPlain{plain_add_rows, plain_colour_means};
  return kPlain;
}

const AreaKernels& area_kernels() {
#if defined(__x86_64__)
  static constexpr AreaKernels kAvx2{avx2_add_rows, avx2_colour_means};
  if (simd_level() != SimdLevel::kBaseline) return kAvx2;
#endif
  return plain_area_kernels();
}

}  // namespace evener::data
