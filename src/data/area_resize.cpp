#include "data/area_resize.h"

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/simd_level.h"

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

struct Window {
  std::int64_t begin = 0, end = 0;
};

Window window_of(std::int64_t output, std::int64_t outputs, std::int64_t inputs) {
  return {output * inputs / outputs, ((output + 1) * inputs + outputs - 1) / outputs};
}

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

AreaRows::AreaRows(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width)
    : picture_(picture), area_(area), height_(height) {
  const bool within = area.x >= 0 && area.y >= 0 && area.width > 0 && area.height > 0 &&
                      area.x + area.width <= picture.width && area.y + area.height <= picture.height;
  if (!within || height < 1 || width < 1) throw Error("a part that is not within a picture was asked for");
  for (std::int64_t x = 0; x < width; ++x) {
    const Window window = window_of(x, width, area.width);
    windows_.first.push_back(static_cast<std::int32_t>(window.begin * picture.channels));
    windows_.count.push_back(static_cast<std::int32_t>(window.end - window.begin));
    windows_.widths.push_back(static_cast<float>(windows_.count.back()));
  }
}

void AreaRows::write(std::int64_t y, std::span<float* const> planes) {
  const auto [begin, end] = window_of(y, height_, area_.height);
  const std::uint8_t* const first = picture_.row(area_.y + begin) + area_.x * picture_.channels;
  if (picture_.channels == 1 || end - begin > kMostSummedRows || area_.width > kMostWindowPixels) {
    write_any(first, end - begin, planes);
    return;
  }
  const auto values = static_cast<std::size_t>(area_.width) * kColours;
  few_.resize(values + kSumSlack);
  const AreaKernels& kernels = area_kernels();
  kernels.add_rows(first, static_cast<std::size_t>(picture_.width) * kColours, end - begin, values, few_.data());
  kernels.colour_means(few_.data(), windows_, static_cast<float>(end - begin), planes.data());
}

// Sums stay whole numbers, so they are exact; only the mean is rounded.
void AreaRows::write_any(const std::uint8_t* in, std::int64_t rows, std::span<float* const> planes) {
  const std::int64_t channels = picture_.channels;
  many_.assign(static_cast<std::size_t>(area_.width * channels), 0);
  for (std::int64_t row = 0; row < rows; ++row, in += picture_.width * channels) {
    for (std::size_t i = 0; i < many_.size(); ++i) many_[i] += in[i];
  }
  for (std::size_t c = 0; c < planes.size(); ++c) {
    if (c >= static_cast<std::size_t>(channels)) {  // grey
      std::copy_n(planes[0], windows_.count.size(), planes[c]);
      continue;
    }
    for (std::size_t x = 0; x < windows_.count.size(); ++x) {
      const std::uint32_t* value = many_.data() + windows_.first[x] + c;
      std::uint32_t sum = 0;
      for (std::int32_t i = 0; i < windows_.count[x]; ++i, value += channels) sum += *value;
      planes[c][x] = static_cast<float>(sum) / (windows_.widths[x] * static_cast<float>(rows));
    }
  }
}

void area_resize(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width,
                 std::span<float> chw) {
  AreaRows rows(picture, area, height, width);
  const auto plane = static_cast<std::size_t>(height * width);
  if (chw.size() != kColours * plane) throw Error("a resized part was given memory of another size");
  for (std::int64_t y = 0; y < height; ++y) {
    float* const first = chw.data() + y * width;
    rows.write(y, std::array{first, first + plane, first + 2 * plane});
  }
}

}  // namespace evener::data
