// Our own CPU kernels, each of which does a range of the work, so that any pool of threads can share it. No library in
// here.
//
// Kernels are for what LibTorch is slow at: batch normalisation with its neighbours, and depthwise convolutions. Images
// are channels-last: `rows` pixels (N * H * W) of `channels` values each.
//
// ProductKernels are for dot products of rows with rows, by which embeddings are compared (block_products.h). A block
// of rows is packed into panels, whose columns are the block's rows.
//
// RowKernels are for small networks of windows, one row of an image at a time, so that what a row needs stays in the
// cache and images may have any size. A row is planar: `channels` planes of `columns` columns. Where several images of
// one size are computed together, each column holds a value of each of them, side by side.
#pragma once

#include <cstdint>

namespace evener::engine::kernels {

/// A bfloat16: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits;
};

/// Bounds that values are clamped to after a normalisation (ReLU: 0 and infinity; ReLU6: 0 and 6).
struct Clamp {
  float low, high;
};

/// The inputs of the backward kernels of a normalisation. The clamp let y = x * scale + shift (+ residual) pass where
/// low < y < high; if `y` is null, it is computed from x again, which costs less than reading it.
template <class T>
struct NormBackward {
  const T* x;
  const T* y;
  const T* dy;
  std::int64_t rows, channels;
  const float* scale;
  const float* shift;
  Clamp clamp;
};

/// Sizes of a depthwise convolution, whose kernel has 3, 5 or 7 taps a side, and a padding below that.
struct DepthwiseShape {
  std::int64_t batch, channels, height, width, out_height, out_width;
  std::int64_t kernel, stride, padding;
};

template <class T>
struct Kernels {
  /// Adds to sum[c] and square_sum[c] the sums over rows of x - pivot and its square. `scratch`: 2 * channels floats.
  void (*moments)(const T* x, std::int64_t rows, std::int64_t channels, const float* pivot, double* sum,
                  double* square_sum, float* scratch);
  /// y = clamp(x * scale + shift + residual); `residual` may be null, y may be x.
  void (*normalize)(const T* x, const T* residual, T* y, std::int64_t rows, std::int64_t channels, const float* scale,
                    const float* shift, Clamp clamp);
  /// With g = dy where the clamp let y pass, else 0: adds to sum[c] and sum_x[c] the sums of g and g * (x - mean), and
  /// stores g in `passed` unless that is null. `scratch`: 2 * channels floats.
  void (*gradient_sums)(const NormBackward<T>& in, const float* mean, T* passed, double* sum, double* sum_x,
                        float* scratch);
  /// dx = a * g + b * x + c, with g as above.
  void (*input_gradient)(const NormBackward<T>& in, const float* a, const float* b, const float* c, T* dx);

  /// One output row `y` from the `kernel` input rows under its window, of which those outside the image are null.
  /// Weights are (kernel * kernel, channels).
  void (*depthwise_forward)(const DepthwiseShape& shape, const T* const* rows, const float* weight, T* y);
  /// One input row's gradient `dx` from those of the output rows that have it under each of the `kernel` rows of their
  /// windows; null where there is none. `flipped`: the weights in reverse order of taps.
  void (*depthwise_input_gradient)(const DepthwiseShape& shape, const T* const* dy, const float* weight,
                                   const float* flipped, T* dx);
  /// Adds to dweight what one output row gives; `rows` as forward.
  void (*depthwise_weight_gradient)(const DepthwiseShape& shape, const T* const* rows, const T* dy, float* dweight);
};

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const Kernels<float>& float_kernels();
const Kernels<BFloat16>& bfloat16_kernels();

/// A block of rows, which lie one after the other.
struct RowBlock {
  const float* at;
  std::int64_t count;
  std::int64_t values;
};

/// The kernels of products. T: the type of the values in panels.
template <class T>
struct PanelKernels {
  std::int64_t columns;  // of a panel
  std::int64_t rows;     // rows of `others` that are done together; `out` must have room for a multiple of it
  std::int64_t values;   // rows in panels are filled up with zeros to a multiple of this many values
  /// Packs a block's rows into panels; columns after the last row are zeros.
  void (*pack)(const RowBlock& block, T* panels);
  /// Writes all products to `out` (others.count, panel_count * columns), with rows out_stride floats apart; rows after
  /// others.count are garbage. `scratch` has room for `rows` rows of values.
  void (*multiply)(const RowBlock& others, const T* panels, std::int64_t panel_count, float* out,
                   std::int64_t out_stride, T* scratch);
};

struct ProductKernels {
  PanelKernels<float> fp32;
  /// The dot product of two rows.
  float (*product)(const float* a, const float* b, std::int64_t values);
  /// The squared distance of two rows, from their differences: accurate also where they are near each other.
  float (*squared_distance)(const float* a, const float* b, std::int64_t values);
  /// Stores the indices of those of `count` values that are at least `least`, or at least the element of `least_of`
  /// with the same index; returns their number.
  std::int64_t (*places_not_below)(const float* values, const float* least_of, float least, std::int64_t count,
                                   std::int32_t* places);
};

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const ProductKernels& product_kernels();

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
