// Inside engine/kernels: convolutions and max-pools of planar rows (row_kernels.h). Columns are the lanes of vectors,
// and each value that is loaded meets the weights of several filters.
#pragma once

#include "engine/kernels/row_kernels.h"
#include "engine/kernels/vectors.h"

namespace evener::engine::kernels {
namespace {

/// Number of sums that fit into registers beside the operands.
constexpr int kSums = kAvx512 ? 24 : 12;

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
      const float* const in = row.rows[y] + channel * row.in_stride + column;
      for (std::int64_t x = 0; x < row.kernel; ++x) {
        WidestFloat values[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) values[v] = load<WidestLanes>(in + x * row.images + v * kWidestLanes);
#pragma GCC unroll 8
        for (int b = 0; b < kBlock; ++b) {
#pragma GCC unroll 8
          for (int v = 0; v < kVectors; ++v) sums[b][v] += values[v] * weight[b];
        }
        weight += kBlock;
      }
    }
  }
  for (int b = 0; b < kBlock; ++b) {
    float* const out = row.out + (first + b) * row.out_stride + column;
    for (int v = 0; v < kVectors; ++v) {
      WidestFloat sum = sums[b][v];
      if (row.slope != nullptr) sum = sum > 0 ? sum : sum * row.slope[first + b];
      store<WidestLanes>(out + v * kWidestLanes, sum);
    }
  }
}

template <int kBlock>
void convolve_blocks(const ConvolveRow& row) {
  constexpr int kVectors = kSums / kBlock > 4 ? 4 : kSums / kBlock;
  const std::int64_t columns = row.columns * row.images;
  std::int64_t column = 0;
  for (; column + (kVectors - 1) * kWidestLanes < columns; column += kVectors * kWidestLanes) {
    for (std::int64_t first = 0; first < row.out_channels; first += kBlock) {
      convolve_part<kBlock, kVectors>(row, column, first);
    }
  }
  for (; column < columns; column += kWidestLanes) {
    for (std::int64_t first = 0; first < row.out_channels; first += kBlock) {
      convolve_part<kBlock, 1>(row, column, first);
    }
  }
}

void convolve_row(const ConvolveRow& row) {
  switch (row.block) {
    case 8:
      return convolve_blocks<8>(row);
    case 7:
      return convolve_blocks<7>(row);
    case 6:
      return convolve_blocks<6>(row);
    case 5:
      return convolve_blocks<5>(row);
    case 4:
      return convolve_blocks<4>(row);
    case 3:
      return convolve_blocks<3>(row);
    case 2:
      return convolve_blocks<2>(row);
    default:
      return convolve_blocks<1>(row);
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
