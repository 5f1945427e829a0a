// Inside engine/kernels: products of rows with rows (product_kernels.h).
#pragma once

#include "engine/kernels/product_kernels.h"
#include "engine/kernels/tile_product.h"
#include "engine/kernels/vectors.h"

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

}  // namespace
}  // namespace evener::engine::kernels
