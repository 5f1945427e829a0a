#include "data/resize_kernels.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#endif

namespace evener::data {

namespace {

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

template <int kChannels>
void plain_row(const std::uint8_t* in, std::uint8_t* out, const std::vector<WeightSpan>& spans,
               const std::int32_t* weights) {
  for (const WeightSpan& span : spans) {
    const std::uint8_t* value = in + std::int64_t{span.first} * kChannels;
    const std::int32_t* weight = weights + span.weights;
    std::int32_t sums[kChannels];
    std::fill(sums, sums + kChannels, kHalfWeight);
    for (std::int32_t k = 0; k < span.count; ++k, value += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += value[c] * weight[k];
    }
    for (int c = 0; c < kChannels; ++c) *out++ = rounded(sums[c]);
  }
}

void plain_column(const std::uint8_t* in, std::size_t stride, const std::int32_t* weights, std::int32_t count,
                  std::size_t values, std::uint8_t* out) {
  constexpr std::size_t kBlock = 1024;  // sums that stay in the first cache
  std::int32_t sums[kBlock];
  for (std::size_t begin = 0; begin < values; begin += kBlock) {
    const std::size_t size = std::min(kBlock, values - begin);
    std::fill(sums, sums + size, kHalfWeight);
    for (std::int32_t k = 0; k < count; ++k) {
      const std::uint8_t* row = in + static_cast<std::size_t>(k) * stride + begin;
      for (std::size_t i = 0; i < size; ++i) sums[i] += row[i] * weights[k];
    }
    for (std::size_t i = 0; i < size; ++i) out[begin + i] = rounded(sums[i]);
  }
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline __m256i eight_values(const std::uint8_t* in) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(in)));
}

/// The upper and the lower half added.
__attribute__((target("avx2"))) inline __m128i folded(__m256i sums) {
  return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

/// Four sums to bytes; the packing saturates as clamp() does.
__attribute__((target("avx2"))) inline std::uint32_t four_bytes(__m128i sums) {
  const __m128i shifted = _mm_srai_epi32(sums, kWeightBits);
  const __m128i words = _mm_packs_epi32(shifted, shifted);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
}

__attribute__((target("avx2"))) void avx2_grey_row(const std::uint8_t* in, std::uint8_t* out,
                                                   const std::vector<WeightSpan>& spans, const std::int32_t* weights) {
  for (const WeightSpan& span : spans) {
    __m256i sums = _mm256_setzero_si256();
    for (std::int32_t k = 0; k < span.count; k += 8) {
      const auto* weight = reinterpret_cast<const __m256i*>(weights + span.weights + k);
      sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(eight_values(in + span.first + k), _mm256_loadu_si256(weight)));
    }
    __m128i sum = folded(sums);
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
    *out++ = rounded(_mm_cvtsi128_si32(sum) + kHalfWeight);
  }
}

/// Two pixels at a time, each in four of the eight places (the fourth is empty).
__attribute__((target("avx2"))) void avx2_colour_row(const std::uint8_t* in, std::uint8_t* out,
                                                     const std::vector<WeightSpan>& spans,
                                                     const std::int32_t* weights) {
  const __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i each_four_times = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  for (const WeightSpan& span : spans) {
    const std::uint8_t* value = in + std::int64_t{span.first} * 3;
    const std::int32_t* weight = weights + span.weights;
    __m256i sums = _mm256_setzero_si256();
    for (std::int32_t k = 0; k < span.count; k += 2, value += 6) {
      const __m128i pixels = _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(value)), spread);
      const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weight + k));
      const __m256i factors = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(two), each_four_times);
      sums = _mm256_add_epi32(sums, _mm256_mullo_epi32(_mm256_cvtepu8_epi32(pixels), factors));
    }
    const std::uint32_t bytes = four_bytes(_mm_add_epi32(folded(sums), _mm_set1_epi32(kHalfWeight)));
    std::memcpy(out, &bytes, 4);  // the fourth is the next pixel's, or slack
    out += 3;
  }
}

__attribute__((target("avx2"))) void avx2_column(const std::uint8_t* in, std::size_t stride,
                                                 const std::int32_t* weights, std::int32_t count, std::size_t values,
                                                 std::uint8_t* out) {
  std::size_t i = 0;
  for (; i + 32 <= values; i += 32) {
    __m256i a = _mm256_set1_epi32(kHalfWeight), b = a, c = a, d = a;
    const std::uint8_t* row = in + i;
    for (std::int32_t k = 0; k < count; ++k, row += stride) {
      const __m256i weight = _mm256_set1_epi32(weights[k]);
      a = _mm256_add_epi32(a, _mm256_mullo_epi32(eight_values(row), weight));
      b = _mm256_add_epi32(b, _mm256_mullo_epi32(eight_values(row + 8), weight));
      c = _mm256_add_epi32(c, _mm256_mullo_epi32(eight_values(row + 16), weight));
      d = _mm256_add_epi32(d, _mm256_mullo_epi32(eight_values(row + 24), weight));
    }
    const __m256i ab = _mm256_packs_epi32(_mm256_srai_epi32(a, kWeightBits), _mm256_srai_epi32(b, kWeightBits));
    const __m256i cd = _mm256_packs_epi32(_mm256_srai_epi32(c, kWeightBits), _mm256_srai_epi32(d, kWeightBits));
    // Packing works within halves; the permutation brings the groups of four back into order.
    const __m256i mixed = _mm256_packus_epi16(ab, cd);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permutevar8x32_epi32(mixed, order));
  }
  plain_column(in + i, stride, weights, count, values - i, out + i);
}

#endif

}  // namespace

const ResizeKernels& plain_resize_kernels() {
  static constexpr ResizeKernels kPlain{plain_row<1>, plain_row<3>, plain_column};
  return kPlain;
}

const ResizeKernels& resize_kernels() {
#if defined(__x86_64__)
  static constexpr ResizeKernels kAvx2{avx2_grey_row, avx2_colour_row, avx2_column};
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return kAvx2;
#endif
  return plain_resize_kernels();
}

}  // namespace evener::data
