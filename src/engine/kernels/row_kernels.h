// Our own CPU kernels for small networks of windows, one row of an image at a time, so that what a row needs stays in
// the cache and images may have any size. A row is planar: `channels` planes of `columns` columns. Where several images
// of one size are computed together, each column holds a value of each of them, side by side. No library in here.
#pragma once

#include <cstdint>

namespace evener::engine::kernels {

/// Number of floats after the last column of each plane that kernels may read; they may write the first 16. They must
/// not be NaN or infinite; their values don't matter.
inline constexpr std::int64_t kRowSlack = 64;

/// One row of a convolution without padding, of stride 1, and of the PReLU that may follow it.
struct ConvolveRow {
  const float* const* rows;  // the `kernel` rows under the window
  std::int64_t in_channels;
  std::int64_t in_stride;  // floats from one plane of such a row to the next
  std::int64_t kernel;     // rows and columns of the window
  const float* weight;     // (out_channels / block, in_channels, kernel, kernel, block)
  const float* bias;       // (out_channels)
  const float* slope;      // (out_channels), of the PReLU; null: there is none
  std::int64_t out_channels;
  std::int64_t block;  // see filter_block
  float* out;
  std::int64_t out_stride;
  std::int64_t columns;  // of the result
  std::int64_t images = 1;
};

/// Rows that convolve_four computes together, and rows under their windows.
inline constexpr std::int64_t kFourRows = 4, kRowsUnderFour = 6;

/// Four rows of a convolution with a window of 3 by 3, from the six rows under them. They are computed by Winograd's
/// F(4, 3) along the columns: with half the products, and results that differ in rounding.
struct ConvolveFour {
  ConvolveRow row;        // `rows` has six, `weight` is what transform_weights makes; `out` isn't used
  float* out[kFourRows];  // the rows of the result
  float* scratch;         // four_rows_scratch(row.in_channels, row.images) floats
};

/// One row of a max-pool of stride 2. Windows that reach beyond the image take the maximum of the values inside it.
struct PoolRow {
  const float* const* rows;
  std::int64_t row_count;  // rows of the image under the window
  std::int64_t channels;
  std::int64_t in_stride, in_columns;
  std::int64_t kernel;  // columns of the window
  float* scratch;       // in_columns * images + kRowSlack floats
  float* out;
  std::int64_t out_stride;
  std::int64_t columns;  // of the result
  std::int64_t images = 1;
};

struct RowKernels {
  void (*convolve)(const ConvolveRow& row);
  void (*convolve_four)(const ConvolveFour& rows);
  /// The weights that convolve_four takes, (out_channels / block, 6, in_channels, 3, block), from those that convolve
  /// takes, (out_channels / block, in_channels, 3, 3, block).
  void (*transform_weights)(const float* weight, std::int64_t out_channels, std::int64_t in_channels,
                            std::int64_t block, float* transformed);
  void (*max_pool)(const PoolRow& row);
};

/// The number of filters that are computed together: the largest divisor of their number up to 8.
std::int64_t filter_block(std::int64_t out_channels);

/// Columns of which convolve_four transforms the inputs at once, so that these stay in the second-level cache.
inline constexpr std::int64_t kFourColumns = 192;
/// Floats from one transformed row of such columns to the next.
constexpr std::int64_t four_rows_stride(std::int64_t images) {
  return (kFourColumns + 2 * images + 15) / 16 * 16;
}
/// Floats of ConvolveFour::scratch.
constexpr std::int64_t four_rows_scratch(std::int64_t in_channels, std::int64_t images) {
  return kRowsUnderFour * in_channels * four_rows_stride(images);
}

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const RowKernels& row_kernels();

}  // namespace evener::engine::kernels
