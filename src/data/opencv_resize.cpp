#include "data/opencv_resize.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace evener::data {
namespace {

constexpr float kOne = 2048;  // the weight of 1, of 11 bits

/// The two inputs of an output position, which are neighbours or, at a border, the same one; and their weights.
struct Pair {
  std::int64_t first = 0, second = 0;
  std::int16_t weights[2] = {};
};

enum class AtBorder { kTakesOne, kTakesItTwice };

/// For the outputs from `begin` on, of `out` in all. The arithmetic is OpenCV's, including where it rounds to float,
/// and that a column beyond the border has no weight while a row there is the border's, which rounds otherwise.
std::vector<Pair> pairs(std::int64_t in, std::int64_t out, std::int64_t begin, std::int64_t count, AtBorder border) {
  const double scale = 1 / (static_cast<double>(out) / static_cast<double>(in));
  std::vector<Pair> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const auto place = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    auto first = static_cast<std::int64_t>(std::floor(place));
    float share = place - static_cast<float>(first);
    if (border == AtBorder::kTakesOne && (first < 0 || first >= in - 1)) {
      first = std::clamp<std::int64_t>(first, 0, in - 1);
      share = 0;
    }
    all.push_back({std::clamp<std::int64_t>(first, 0, in - 1),
                   std::clamp<std::int64_t>(first + 1, 0, in - 1),
                   {static_cast<std::int16_t>(std::nearbyint((1 - share) * kOne)),
                    static_cast<std::int16_t>(std::nearbyint(share * kOne))}});
  }
  return all;
}

/// Values of a row of the result before rows are added: at most 255 * 2048 / 16.
using RowSums = std::vector<std::int16_t>;
constexpr std::size_t kRowSlack = 8;  // values beyond a row that loops may write

/// Reads up to 8 bytes (Picture::kSlackBytes) beyond the row: the second of two pixels with the weight 0.
template <int kChannels>
void plain_pair_row(const std::uint8_t* in, const std::vector<Pair>& across, std::int16_t* sums) {
  for (const Pair& pair : across) {
    const std::uint8_t* value = in + pair.first * kChannels;
    for (int c = 0; c < kChannels; ++c) {
      *sums++ = static_cast<std::int16_t>((value[c] * pair.weights[0] + value[c + kChannels] * pair.weights[1]) >> 4);
    }
  }
}

/// Adds two rows. The loop has only products of which the upper 16 bits are kept, so that compilers make vectors of it.
void add_rows(const std::int16_t* upper, const std::int16_t* lower, const std::int16_t* weights, std::size_t count,
              std::uint8_t* out) {
  const std::int16_t a = weights[0], b = weights[1];
  for (std::size_t i = 0; i < count; ++i) {
    const auto high = static_cast<std::int16_t>((a * upper[i]) >> 16);
    const auto low = static_cast<std::int16_t>((b * lower[i]) >> 16);
    out[i] = static_cast<std::uint8_t>((high + low + 2) >> 2);
  }
}

#if defined(__x86_64__)

/// The values of a pixel's two inputs side by side, which one instruction multiplies and adds.
__attribute__((target("avx2"))) void avx2_colour_pair_row(const std::uint8_t* in, const std::vector<Pair>& across,
                                                          std::int16_t* sums) {
  const __m128i beside = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  for (const Pair& pair : across) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + pair.first * 3));
    const __m128i weights =
        _mm_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(pair.weights[0])) |
                                        static_cast<std::uint32_t>(pair.weights[1]) << 16));
    const __m128i products = _mm_srai_epi32(_mm_madd_epi16(_mm_shuffle_epi8(bytes, beside), weights), 4);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(sums), _mm_packs_epi32(products, products));
    sums += 3;  // the fourth is the next pixel's, or slack
  }
}

__attribute__((target("avx2"))) inline __m256i avx2_sixteen_sums(const std::int16_t* upper, const std::int16_t* lower,
                                                                 __m256i a, __m256i b) {
  const __m256i high = _mm256_mulhi_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(upper)), a);
  const __m256i low = _mm256_mulhi_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower)), b);
  return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(high, low), _mm256_set1_epi16(2)), 2);
}

__attribute__((target("avx2"))) void avx2_add_rows(const std::int16_t* upper, const std::int16_t* lower,
                                                   const std::int16_t* weights, std::size_t count, std::uint8_t* out) {
  const __m256i a = _mm256_set1_epi16(weights[0]), b = _mm256_set1_epi16(weights[1]);
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    // Packing works within halves; the permutation brings the quarters back into order.
    const __m256i mixed = _mm256_packus_epi16(avx2_sixteen_sums(upper + i, lower + i, a, b),
                                              avx2_sixteen_sums(upper + i + 16, lower + i + 16, a, b));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_permute4x64_epi64(mixed, 0xD8));
  }
  add_rows(upper + i, lower + i, weights, count - i, out + i);
}

#endif

struct PairKernels {
  void (*grey_row)(const std::uint8_t*, const std::vector<Pair>&, std::int16_t*) = plain_pair_row<1>;
  void (*colour_row)(const std::uint8_t*, const std::vector<Pair>&, std::int16_t*) = plain_pair_row<3>;
  void (*add)(const std::int16_t*, const std::int16_t*, const std::int16_t*, std::size_t, std::uint8_t*) = add_rows;
};

PairKernels fastest() {
  PairKernels kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) kernels.colour_row = avx2_colour_pair_row, kernels.add = avx2_add_rows;
#endif
  return kernels;
}

Picture resized(const Picture& picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                const PairKernels& kernels) {
  const std::vector<Pair> across = pairs(picture.width, width, part.x, part.width, AtBorder::kTakesOne);
  const std::vector<Pair> down = pairs(picture.height, height, part.y, part.height, AtBorder::kTakesItTwice);
  Picture out = Picture::unset(picture.channels, part.height, part.width);
  const auto values = static_cast<std::size_t>(part.width * picture.channels);
  const auto row = picture.channels == 1 ? kernels.grey_row : kernels.colour_row;
  RowSums upper(values + kRowSlack), lower(values + kRowSlack);
  std::int64_t in_upper = -1, in_lower = -1;  // the rows of the picture that the sums are of
  for (std::int64_t y = 0; y < part.height; ++y) {
    const Pair& pair = down[static_cast<std::size_t>(y)];
    if (pair.first == in_lower) std::swap(upper, lower), std::swap(in_upper, in_lower);
    if (pair.first != in_upper) row(picture.row(pair.first), across, upper.data()), in_upper = pair.first;
    if (pair.second != in_lower) row(picture.row(pair.second), across, lower.data()), in_lower = pair.second;
    kernels.add(upper.data(), lower.data(), pair.weights, values, out.row(y));
  }
  return out;
}

}  // namespace

Picture opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width, const PictureArea& part) {
  static const PairKernels kernels = fastest();
  return resized(picture, height, width, part, kernels);
}

Picture plain_opencv_resize_part(const Picture& picture, std::int64_t height, std::int64_t width,
                                 const PictureArea& part) {
  return resized(picture, height, width, part, {});
}

}  // namespace evener::data
