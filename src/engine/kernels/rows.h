// Inside engine/kernels: products of rows with rows, and convolutions and max-pools of planar rows (kernels.h). Columns
// of the latter are the lanes of vectors, and each value that is loaded meets the weights of several filters.
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/tile_product.h"
#include "engine/kernels/vectors.h"
#include "engine/kernels/winograd_transforms.h"

namespace evener::engine::kernels {
namespace {

constexpr int kProductRows = kAvx512 ? 8 : 4, kProductVectors = 3;
constexpr std::int64_t kProductPanel = kProductVectors * kWidestLanes;

/// Element (value, column) at value * kProductPanel + column of its panel.
void pack_rows(const RowBlock& block, float* panels) {
  for (std::int64_t first = 0; first < block.count; first += kProductPanel) {
    for (std::int64_t value = 0; value < block.values; ++value) {
      for (std::int64_t column = first; column < first + kProductPanel; ++column) {
        *panels++ = column < block.count ? block.at[column * block.values + value] : 0;
      }
    }
  }
}

void multiply_rows(const RowBlock& others, const float* panels, std::int64_t panel_count, float* out,
                   std::int64_t out_stride, float* /*scratch*/) {
  for (std::int64_t panel = 0; panel < panel_count; ++panel) {
    const float* const columns = panels + panel * others.values * kProductPanel;
    for (std::int64_t row = 0; row < others.count; row += kProductRows) {
      const std::int64_t left = others.count - row;
      with_rows<kProductRows>(left < kProductRows ? left : kProductRows, [&](auto tile_rows) {
        constexpr int kRows = decltype(tile_rows)::value;
        WidestFloat sum[kRows][kProductVectors];
        multiply_tile<WidestMath>(sum, others.at + row * others.values, others.values, 1, columns, kProductPanel,
                                  others.values);
        for (int r = 0; r < kRows; ++r) {
          for (int n = 0; n < kProductVectors; ++n) {
            store<WidestLanes>(out + (row + r) * out_stride + panel * kProductPanel + n * kWidestLanes, sum[r][n]);
          }
        }
      });
    }
  }
}

/// Sums term(x, y) over the values of two rows; `term` is called with single values and with vectors.
template <class Term>
[[gnu::always_inline]] inline float sum_of_two_rows(const float* a, const float* b, std::int64_t values,
                                                    const Term& term) {
  constexpr int kChains = 4;  // of sums that don't wait for each other
  WidestFloat sums[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kWidestLanes <= values; i += kChains * kWidestLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      sums[c] += term(load<WidestLanes>(a + i + c * kWidestLanes), load<WidestLanes>(b + i + c * kWidestLanes));
    }
  }
  for (; i + kWidestLanes <= values; i += kWidestLanes) {
    sums[0] += term(load<WidestLanes>(a + i), load<WidestLanes>(b + i));
  }
  float lanes[kWidestLanes];
  store<WidestLanes>(lanes, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (int half = kWidestLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  float sum = lanes[0];
  for (; i < values; ++i) sum += term(a[i], b[i]);
  return sum;
}

float row_product(const float* a, const float* b, std::int64_t values) {
  return sum_of_two_rows(
      a, b, values, [](auto x, auto y) __attribute__((always_inline)) { return x * y; });
}

float row_squared_distance(const float* a, const float* b, std::int64_t values) {
  return sum_of_two_rows(
      a, b, values, [](auto x, auto y) __attribute__((always_inline)) { return (x - y) * (x - y); });
}

/// Bit i is set where values[i] >= least or values[i] >= least_of[i].
template <class L>
[[gnu::always_inline]] inline unsigned not_below(const float* values, const float* least_of, typename L::Float least) {
  const typename L::Float value = load<L>(values), own_least = load<L>(least_of);
  if constexpr (kAvx512 && sizeof(value) == 64) {
    return unsigned{_mm512_cmp_ps_mask(reinterpret_cast<__m512>(value), reinterpret_cast<__m512>(least), _CMP_GE_OQ)} |
           unsigned{
               _mm512_cmp_ps_mask(reinterpret_cast<__m512>(value), reinterpret_cast<__m512>(own_least), _CMP_GE_OQ)};
  } else {
    const auto is = (value >= least) | (value >= own_least);
    if constexpr (kRegisterBytes == 32) {
      return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(is)));
    }
    unsigned bits = 0;
    for (unsigned lane = 0; lane < sizeof(value) / sizeof(float); ++lane) bits |= unsigned{is[lane] != 0} << lane;
    return bits;
  }
}

std::int64_t places_not_below(const float* values, const float* least_of, float least, std::int64_t count,
                              std::int32_t* places) {
  std::int64_t found = 0;
  const WidestFloat all_least = least - WidestFloat{};
  std::int64_t i = 0;
  for (; i + kWidestLanes <= count; i += kWidestLanes) {
    for (unsigned bits = not_below<WidestLanes>(values + i, least_of + i, all_least); bits != 0; bits &= bits - 1) {
      places[found++] = static_cast<std::int32_t>(i + __builtin_ctz(bits));
    }
  }
  for (; i < count; ++i) {
    if (values[i] >= least || values[i] >= least_of[i]) places[found++] = static_cast<std::int32_t>(i);
  }
  return found;
}

/// Number of sums that fit into registers beside the operands.
constexpr int kSums = kAvx512 ? 24 : 12;
constexpr int kMostFilters = 8;  // of a block

/// Adds the products of one plane's values at `in` and of the next taps - 1 columns with `weight` (taps, kBlock), which
/// then points behind these.
template <int kBlock, int kVectors>
[[gnu::always_inline]] inline void add_products(WidestFloat (&sums)[kBlock][kVectors], const float* in,
                                                std::int64_t taps, std::int64_t images, const float*& weight) {
  for (std::int64_t x = 0; x < taps; ++x) {
    WidestFloat values[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) values[v] = load<WidestLanes>(in + x * images + v * kWidestLanes);
#pragma GCC unroll 8
    for (int b = 0; b < kBlock; ++b) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[b][v] += values[v] * weight[b];
    }
    weight += kBlock;
  }
}

/// Stores a sum after the PReLU that may follow.
[[gnu::always_inline]] inline void store_sum(const ConvolveRow& row, float* out, std::int64_t filter, WidestFloat sum) {
  if (row.slope != nullptr) sum = sum > 0 ? sum : sum * row.slope[filter];
  store<WidestLanes>(out, sum);
}

/// Computes kVectors vectors of columns, from `column` on, of kBlock filters, from `first` on.
template <int kBlock, int kVectors>
[[gnu::always_inline]] inline void convolve_part(const ConvolveRow& row, std::int64_t column, std::int64_t first) {
  WidestFloat sums[kBlock][kVectors];
  for (int b = 0; b < kBlock; ++b) {
    for (int v = 0; v < kVectors; ++v) sums[b][v] = row.bias[first + b] - WidestFloat{};
  }
  const float* weight = row.weight + first * row.in_channels * row.kernel * row.kernel;
  for (std::int64_t channel = 0; channel < row.in_channels; ++channel) {
    for (std::int64_t y = 0; y < row.kernel; ++y) {
      add_products(sums, row.rows[y] + channel * row.in_stride + column, row.kernel, row.images, weight);
    }
  }
  for (int b = 0; b < kBlock; ++b) {
    for (int v = 0; v < kVectors; ++v) {
      store_sum(row, row.out + (first + b) * row.out_stride + column + v * kWidestLanes, first + b, sums[b][v]);
    }
  }
}

/// Calls part(column, Constant<vectors>) for the columns from `column` to `end`: for as many vectors at once as there
/// are sums for, then for one by one.
template <int kBlock, class Part>
[[gnu::always_inline]] inline void for_vectors(std::int64_t column, std::int64_t end, const Part& part) {
  constexpr int kVectors = kSums / kBlock > 4 ? 4 : kSums / kBlock;
  for (; column + (kVectors - 1) * kWidestLanes < end; column += kVectors * kWidestLanes) {
    part(column, Constant<kVectors>());
  }
  for (; column < end; column += kWidestLanes) part(column, Constant<1>());
}

void convolve_row(const ConvolveRow& row) {
  with_rows<kMostFilters>(row.block, [&](auto block) {
    constexpr int kBlock = decltype(block)::value;
    for_vectors<kBlock>(0, row.columns * row.images, [&](std::int64_t column, auto vectors) {
      for (std::int64_t first = 0; first < row.out_channels; first += kBlock) {
        convolve_part<kBlock, decltype(vectors)::value>(row, column, first);
      }
    });
  });
}

void transform_row_weights(const float* weight, std::int64_t out_channels, std::int64_t in_channels, std::int64_t block,
                           float* transformed) {
  const std::int64_t row = kTaps * block, plane = kTaps * row;
  for (std::int64_t first = 0; first < out_channels;
       first += block, transformed += FourByFour::kTileIn * in_channels * row) {
    for (std::int64_t channel = 0; channel < in_channels; ++channel, weight += plane) {
      for (std::int64_t i = 0; i < row; ++i) {
        const float taps[kTaps] = {weight[i], weight[row + i], weight[2 * row + i]};
        float points[FourByFour::kTileIn];
        FourByFour::transform_taps(taps, points);
        for (int p = 0; p < FourByFour::kTileIn; ++p) transformed[(p * in_channels + channel) * row + i] = points[p];
      }
    }
  }
}

/// Transforms the inputs of the columns from `column` to `end` and of the taps beside them: (6, in_channels, stride).
void transform_rows(const ConvolveFour& four, std::int64_t column, std::int64_t end, std::int64_t stride) {
  const ConvolveRow& row = four.row;
  const std::int64_t values = end - column + (kTaps - 1) * row.images;
  for (std::int64_t channel = 0; channel < row.in_channels; ++channel) {
    const std::int64_t from = channel * row.in_stride + column;
    float* const to = four.scratch + channel * stride;
    for (std::int64_t x = 0; x < values; x += kWidestLanes) {
      WidestFloat in[FourByFour::kTileIn], points[FourByFour::kTileIn];
      for (int y = 0; y < FourByFour::kTileIn; ++y) in[y] = load<WidestLanes>(row.rows[y] + from + x);
      FourByFour::transform_inputs(in, points);
      for (int p = 0; p < FourByFour::kTileIn; ++p) {
        store<WidestLanes>(to + p * row.in_channels * stride + x, points[p]);
      }
    }
  }
}

/// As convolve_part, from transformed inputs, of which `in` are the first vectors.
template <int kBlock, int kVectors>
[[gnu::always_inline]] inline void convolve_four_part(const ConvolveFour& four, const float* in, std::int64_t stride,
                                                      std::int64_t column, std::int64_t first) {
  const ConvolveRow& row = four.row;
  float points[FourByFour::kTileIn][kBlock][kVectors][kWidestLanes];
  const float* weight = row.weight + first * FourByFour::kTileIn * row.in_channels * kTaps;
  for (auto& point : points) {
    WidestFloat sums[kBlock][kVectors] = {};
    for (std::int64_t channel = 0; channel < row.in_channels; ++channel, in += stride) {
      add_products(sums, in, kTaps, row.images, weight);
    }
    for (int b = 0; b < kBlock; ++b) {
      for (int v = 0; v < kVectors; ++v) store<WidestLanes>(point[b][v], sums[b][v]);
    }
  }
  for (int b = 0; b < kBlock; ++b) {
    const std::int64_t to = (first + b) * row.out_stride + column;
    for (int v = 0; v < kVectors; ++v) {
      WidestFloat values[FourByFour::kTileIn], results[FourByFour::kTileOut];
      for (int p = 0; p < FourByFour::kTileIn; ++p) values[p] = load<WidestLanes>(points[p][b][v]);
      FourByFour::transform_outputs(values, results);
      for (int y = 0; y < FourByFour::kTileOut; ++y) {
        store_sum(row, four.out[y] + to + v * kWidestLanes, first + b, results[y] + row.bias[first + b]);
      }
    }
  }
}

void convolve_four_rows(const ConvolveFour& four) {
  static_assert(FourByFour::kTileIn == kRowsUnderFour && FourByFour::kTileOut == kFourRows);
  const ConvolveRow& row = four.row;
  const std::int64_t columns = row.columns * row.images, stride = four_rows_stride(row.images);
  for (std::int64_t begin = 0; begin < columns; begin += kFourColumns) {
    const std::int64_t end = columns - begin < kFourColumns ? columns : begin + kFourColumns;
    transform_rows(four, begin, end, stride);
    with_rows<kMostFilters>(row.block, [&](auto block) {
      constexpr int kBlock = decltype(block)::value;
      for (std::int64_t first = 0; first < row.out_channels; first += kBlock) {
        for_vectors<kBlock>(begin, end, [&](std::int64_t column, auto vectors) {
          convolve_four_part<kBlock, decltype(vectors)::value>(four, four.scratch + column - begin, stride, column,
                                                               first);
        });
      }
    });
  }
}

/// Loads every second value from `from` on.
template <class L>
[[gnu::always_inline]] inline typename L::Float every_second(const float* from) {
  const typename L::Float a = load<L>(from), b = load<L>(from + kWidestLanes);
  if constexpr (sizeof(a) == 64) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  } else {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  }
}

[[gnu::always_inline]] inline WidestFloat larger(WidestFloat a, WidestFloat b) {
  return a > b ? a : b;
}

/// The maximum of each window, for one image; row.scratch has the maxima over the window's rows.
void pool_columns(const PoolRow& row, float* out) {
  for (std::int64_t x = 0; x < row.columns; x += kWidestLanes) {
    WidestFloat most = every_second<WidestLanes>(row.scratch + 2 * x);
    for (std::int64_t k = 1; k < row.kernel; ++k)
      most = larger(every_second<WidestLanes>(row.scratch + 2 * x + k), most);
    store<WidestLanes>(out + x, most);
  }
}

/// The same for several images.
void pool_columns_of_images(const PoolRow& row, float* out) {
  for (std::int64_t column = 0; column < row.columns; ++column) {
    const std::int64_t left = row.in_columns - 2 * column, under = left < row.kernel ? left : row.kernel;
    for (std::int64_t image = 0; image < row.images; image += kWidestLanes) {
      const float* const from = row.scratch + 2 * column * row.images + image;
      WidestFloat most = load<WidestLanes>(from);
      for (std::int64_t k = 1; k < under; ++k) most = larger(load<WidestLanes>(from + k * row.images), most);
      // What is written beyond the images is the next column's, which follows.
      store<WidestLanes>(out + column * row.images + image, most);
    }
  }
}

void max_pool_row(const PoolRow& row) {
  const std::int64_t in_columns = row.in_columns * row.images, columns = row.columns * row.images;
  for (std::int64_t channel = 0; channel < row.channels; ++channel) {
    for (std::int64_t x = 0; x < in_columns; x += kWidestLanes) {
      WidestFloat most = load<WidestLanes>(row.rows[0] + channel * row.in_stride + x);
      for (std::int64_t y = 1; y < row.row_count; ++y) {
        most = larger(load<WidestLanes>(row.rows[y] + channel * row.in_stride + x), most);
      }
      store<WidestLanes>(row.scratch + x, most);
    }
    for (std::int64_t x = in_columns; x < in_columns + kRowSlack; ++x) row.scratch[x] = -__builtin_inff();
    float* const out = row.out + channel * row.out_stride;
    row.images == 1 ? pool_columns(row, out) : pool_columns_of_images(row, out);
    // The infinities beyond the last column are replaced by zeros: they would become NaNs in sums that are computed but
    // not used.
    for (std::int64_t x = columns; x < columns + kWidestLanes; ++x) out[x] = 0;
  }
}

}  // namespace

}  // namespace evener::engine::kernels
