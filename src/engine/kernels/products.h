// Inside engine/kernels: products of many rows with many rows, for comparing embeddings.
#pragma once

#include "engine/kernels/row_kernels.h"
#include "engine/kernels/rows.h"

namespace evener::engine::kernels {
namespace {

/// Rows of either side that are multiplied together: each value that is loaded is used several times.
constexpr int kProductRowsA = kAvx512 ? 4 : 2, kProductRowsB = kAvx512 ? 6 : 4;

template <int kA, int kB>
[[gnu::always_inline]] inline void products_part(const RowProducts& p, std::int64_t a_first, std::int64_t b_first) {
  RowFloat sums[kA][kB] = {};
  const float* const a = p.a + a_first * p.values;
  const float* const b = p.b + b_first * p.values;
  std::int64_t i = 0;
  for (; i + kLanes <= p.values; i += kLanes) {
    RowFloat from_a[kA];
#pragma GCC unroll 8
    for (int r = 0; r < kA; ++r) from_a[r] = load<RowLanes>(a + r * p.values + i);
#pragma GCC unroll 8
    for (int c = 0; c < kB; ++c) {
      const RowFloat from_b = load<RowLanes>(b + c * p.values + i);
#pragma GCC unroll 8
      for (int r = 0; r < kA; ++r) sums[r][c] += from_a[r] * from_b;
    }
  }
  for (int r = 0; r < kA; ++r) {
    for (int c = 0; c < kB; ++c) {
      float sum = 0;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) sum += sums[r][c][lane];
      for (std::int64_t k = i; k < p.values; ++k) sum += a[r * p.values + k] * b[c * p.values + k];
      p.out[(a_first + r) * p.out_stride + b_first + c] = sum;
    }
  }
}

void row_products(const RowProducts& p) {
  std::int64_t b = 0;
  for (; b + kProductRowsB <= p.b_rows; b += kProductRowsB) {
    std::int64_t a = 0;
    for (; a + kProductRowsA <= p.a_rows; a += kProductRowsA) products_part<kProductRowsA, kProductRowsB>(p, a, b);
    for (; a < p.a_rows; ++a) products_part<1, kProductRowsB>(p, a, b);
  }
  for (; b < p.b_rows; ++b) {
    for (std::int64_t a = 0; a < p.a_rows; ++a) products_part<1, 1>(p, a, b);
  }
}

float row_product(const float* a, const float* b, std::int64_t values) {
  constexpr int kChains = 4;  // of sums that don't wait for each other
  RowFloat sums[kChains] = {};
  std::int64_t i = 0;
  for (; i + kChains * kLanes <= values; i += kChains * kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c)
      sums[c] += load<RowLanes>(a + i + c * kLanes) * load<RowLanes>(b + i + c * kLanes);
  }
  for (; i + kLanes <= values; i += kLanes) sums[0] += load<RowLanes>(a + i) * load<RowLanes>(b + i);
  float lanes[kLanes];
  store<RowLanes>(lanes, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  float sum = lanes[0];
  for (; i < values; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace
}  // namespace evener::engine::kernels
