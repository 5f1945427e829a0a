// Depthwise convolutions with the batch normalisations at both their sides, walked row by row: what lies between them
// stays in the cache. The normalised images are neither written to memory nor kept for the backward pass. No library in
// here; the rows are computed by the kernels that are passed.
#pragma once

#include <cstdint>

#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// A batch normalisation that is known: y = clamp(x * scale + shift) for each channel.
struct ChannelNorm {
  const float* scale = nullptr;  // null: there is no normalisation
  const float* shift = nullptr;
  Clamp clamp{};
};

/// The number of groups of output rows that are done together, each of one image. Float32 sums over a group are rounded
/// alike however the groups are divided among threads.
std::int64_t depthwise_groups(const DepthwiseShape& shape);

template <class T>
struct DepthwiseForward {
  DepthwiseShape shape;
  const T* x;          // (batch, height, width, channels)
  ChannelNorm before;  // of x
  const float* weight;
  T* y;
  const float* pivot;  // of the moments of y; null: they are not asked for
};

/// Computes the groups [begin, end) of output rows, and adds to sum[c] and square_sum[c] the sums of y - pivot
/// and its square.
template <class T>
void depthwise_forward(const Kernels<T>& kernels, const DepthwiseForward<T>& pass, std::int64_t begin, std::int64_t end,
                       double* sum, double* square_sum);

template <class T>
struct DepthwiseBackward {
  DepthwiseShape shape;
  const T* x;
  ChannelNorm before;
  const float* mean;  // of x, where there is a normalisation before
  const float* weight;
  const float* flipped;  // the weights in reverse order of taps
  const T* y;            // the convolution's result, where there is a normalisation after it
  ChannelNorm after;
  const float* slope;   // the gradient of y is after.scale * g + slope * y + offset, with g the part of dy that
  const float* offset;  // the clamp let pass; without a normalisation it is dy
  const T* dy;
  T* dx;  // the gradient of the convolution's input, as far as the clamp before let it pass
};

/// Does the groups [begin, end) of output rows and the input rows that belong to them: writes dx, adds to dweight, and
/// to sum[c] and sum_x[c] the sums of dx and dx * (x - mean), where there is a normalisation before.
template <class T>
void depthwise_backward(const Kernels<T>& kernels, const DepthwiseBackward<T>& pass, std::int64_t begin,
                        std::int64_t end, double* dweight, double* sum, double* sum_x);

}  // namespace evener::engine::kernels
