#include "data/resize.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"

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

constexpr const char* kFilters[] = {"nearest", "bilinear", "bicubic", "lanczos", "opencv"};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

/// The weight of a pixel that lies so far from the middle; beyond support_of() it is 0.
double weight_at(ResizeFilter filter, double distance) {
  switch (filter) {
    case ResizeFilter::kNearest:  // has no weights, see Weights
    case ResizeFilter::kOpenCv:   // has its own
    case ResizeFilter::kBilinear:
      return std::max(0.0, 1.0 - distance);
    case ResizeFilter::kBicubic: {
      constexpr double a = -0.5;
      if (distance < 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
      return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * a : 0;
    }
    case ResizeFilter::kLanczos:
      return distance < 3 ? sinc(distance) * sinc(distance / 3) : 0;
  }
  return 0;
}

double support_of(ResizeFilter filter) {
  return filter == ResizeFilter::kLanczos ? 3 : filter == ResizeFilter::kBicubic ? 2 : 1;
}

/// Pixels of a side, from `begin` to before `end`.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// For each output position its input positions, and their weights.
struct Weights {
  std::vector<WeightSpan> spans;
  std::vector<std::int32_t> weights;

  /// Computes the weights for the outputs in `made`, of `out` in all.
  Weights(std::int64_t in, std::int64_t out, Range made, ResizeFilter filter) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    spans.reserve(static_cast<std::size_t>(made.size()));
    for (std::int64_t i = made.begin; i < made.end; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      if (filter == ResizeFilter::kNearest || in == out) {
        add(static_cast<std::int64_t>(center), {1});
      } else {
        add_span(in, center, std::max(scale, 1.0), filter);
      }
    }
  }

  /// The inputs that anything is made of.
  Range inputs() const { return {spans.front().first, spans.back().first + spans.back().count}; }
  /// Shifts the spans for a picture that was cropped to inputs().
  void move_to_first_input() {
    const std::int32_t first = spans.front().first;
    for (WeightSpan& span : spans) span.first -= first;
  }

 private:
  /// `stretch`: of the filter, in input pixels.
  void add_span(std::int64_t in, double center, double stretch, ResizeFilter filter) {
    const double support = support_of(filter) * stretch;
    const auto first = static_cast<std::int64_t>(std::max(center - support + 0.5, 0.0));
    const auto end = static_cast<std::int64_t>(std::min(center + support + 0.5, static_cast<double>(in)));
    std::vector<double> raw;
    for (std::int64_t x = first; x < end; ++x) {
      raw.push_back(weight_at(filter, std::abs((static_cast<double>(x) - center + 0.5) * (1.0 / stretch))));
    }
    add(first, raw);
  }

  void add(std::int64_t first, const std::vector<double>& raw) {
    double sum = 0;
    for (const double weight : raw) sum += weight;
    spans.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(raw.size()), weights.size()});
    for (const double weight : raw) {
      const double fixed = weight / sum * (1 << kWeightBits);
      weights.push_back(static_cast<std::int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5)));
    }
    weights.resize((weights.size() + kWeightStep - 1) / kWeightStep * kWeightStep);
  }
};

/// Only those rows.
Picture resize_rows(const Picture& in, const Weights& weights, Range rows, const ResizeKernels& kernels) {
  Picture out = Picture::unset(in.channels, rows.size(), std::ssize(weights.spans));
  const auto row = in.channels == 1 ? kernels.grey_row : kernels.colour_row;
  for (std::int64_t y = 0; y < out.height; ++y) {
    row(in.row(rows.begin + y), out.row(y), weights.spans, weights.weights.data());
  }
  return out;
}

/// Only those columns.
Picture resize_columns(const Picture& in, const Weights& weights, Range columns, const ResizeKernels& kernels) {
  Picture out = Picture::unset(in.channels, std::ssize(weights.spans), columns.size());
  const auto stride = static_cast<std::size_t>(in.width * in.channels);
  const auto row_values = static_cast<std::size_t>(out.width * out.channels);
  for (std::int64_t y = 0; y < out.height; ++y) {
    const WeightSpan& span = weights.spans[static_cast<std::size_t>(y)];
    kernels.column(in.row(span.first) + columns.begin * in.channels, stride, weights.weights.data() + span.weights,
                   span.count, row_values, out.row(y));
  }
  return out;
}

Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter, const ResizeKernels& kernels) {
  if (height < 1 || width < 1) {
    throw Error("can't resize an image to " + std::to_string(width) + "x" + std::to_string(height) +
                ": both extents must be at least 1");
  }
  const bool within = part.x >= 0 && part.y >= 0 && part.width > 0 && part.height > 0 && part.x + part.width <= width &&
                      part.y + part.height <= height;
  if (!within) throw Error("a part that is not within a resized picture was asked for");
  const bool keeps_width = width == picture.width, keeps_height = height == picture.height;
  if (keeps_width && keeps_height && part.width == width && part.height == height) return picture;
  if (filter == ResizeFilter::kOpenCv) return opencv_resize_part(picture, height, width, part);
  Weights across(picture.width, width, {part.x, part.x + part.width}, filter);
  Weights down(picture.height, height, {part.y, part.y + part.height}, filter);
  if (keeps_width) return resize_columns(picture, down, across.inputs(), kernels);
  if (keeps_height) return resize_rows(picture, across, down.inputs(), kernels);
  // The order decides the rounding, so this rule is Pillow's: columns first where that leaves far less to do for the
  // rows.
  const std::int64_t fewer_rows = picture.height - height, fewer_columns = picture.width - width;
  if (fewer_rows > 0 && fewer_rows > 2 * fewer_columns) {
    picture = resize_columns(picture, down, across.inputs(), kernels);
    across.move_to_first_input();
    return resize_rows(picture, across, {0, picture.height}, kernels);
  }
  picture = resize_rows(picture, across, down.inputs(), kernels);
  down.move_to_first_input();
  return resize_columns(picture, down, {0, picture.width}, kernels);
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

ResizeFilter parse_resize_filter(const std::string& name) {
  return value_named<ResizeFilter>(kFilters, "interpolation", name);
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter,
               const ResizeKernels& kernels) {
  return resize_part(std::move(picture), height, width, {0, 0, width, height}, filter, kernels);
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter) {
  return resize(std::move(picture), height, width, filter, resize_kernels());
}

Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter) {
  return resize_part(std::move(picture), height, width, part, filter, resize_kernels());
}

std::string smaller_size(const ImageShape& shape) {
  constexpr std::int64_t kSide = 224;
  const std::int64_t shorter = std::min(shape.width, shape.height);
  if (shorter <= kSide) return "";
  const auto scaled = [shorter](std::int64_t side) { return std::to_string((side * kSide + shorter / 2) / shorter); };
  return scaled(shape.width) + "x" + scaled(shape.height);
}

}  // namespace evener::data
