// Our own CPU kernels for what LibTorch is slow at: batch normalisation with its neighbours, and depthwise
// convolutions. Images are channels-last: `rows` pixels (N * H * W) of `channels` values each. Each function does a
// range of the work, so that any pool of threads can share it. No library in here.
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

}  // namespace evener::engine::kernels
