// What a batch normalisation computes for each channel from sums over the rows: its scale and shift, and the gradients.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "engine/torch/batch_norm.h"
#include "engine/torch/channel_sums.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {

/// clamp(x * scale + shift), as it was computed forward; the backward pass keeps it.
struct Normalization : torch::CustomClassHolder {
  std::vector<float> mean, inverse_deviation;
  double count = 0;  // of values per channel that they were computed from; infinite where no value moves them
  std::vector<float> scale, shift;
  kernels::Clamp clamp{};
  const Replicas* replicas = nullptr;  // over which the statistics were taken; null = none
};
using NormalizationPtr = c10::intrusive_ptr<Normalization>;

/// Normalises by the running statistics.
NormalizationPtr running_normalization(const BatchNormTensors& tensors, const BatchNormOptions& options);

/// Normalises by the batch's statistics, and updates the running ones. `sums`: over `rows` rows of x - pivot and its
/// square.
NormalizationPtr batch_normalization(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                                     const BatchNormTensors& tensors, const BatchNormOptions& options);

/// The same from x (kernels::Kernels::moments), or from the running statistics where the layer is frozen or not in
/// training.
template <class T>
NormalizationPtr normalization_of(const at::Tensor& x, const BatchNormTensors& tensors,
                                  const BatchNormOptions& options);

/// clamp(x * scale + shift + residual); the latter may be undefined.
template <class T>
at::Tensor normalized(const at::Tensor& x, const at::Tensor& residual, const Normalization& norm);

struct NormGradients {
  at::Tensor weight, bias;           // this replica's part of their sums, as all gradients are
  std::vector<float> slope, offset;  // dx = scale * g + slope * x + offset
};

/// `sums`: over the rows of g, the gradient that the clamp let pass, and of g * (x - mean).
NormGradients gradients_of(const Normalization& norm, const ChannelSums& sums);

/// `of`, from row `begin` on.
template <class T>
kernels::NormBackward<T> rows_from(kernels::NormBackward<T> of, std::int64_t begin, std::int64_t end) {
  const std::int64_t at = begin * of.channels;
  of.x += at;
  of.dy += at;
  if (of.y != nullptr) of.y += at;
  of.rows = end - begin;
  return of;
}

/// The sums for gradients_of; stores g in `passed` unless that is null.
template <class T>
ChannelSums gradient_sums(const kernels::NormBackward<T>& in, const Normalization& norm, T* passed) {
  return sum_over_rows(in.rows, in.channels,
                       [&](std::int64_t begin, std::int64_t end, double* first, double* second, float* scratch) {
                         kernels_of<T>().gradient_sums(rows_from(in, begin, end), norm.mean.data(),
                                                       passed != nullptr ? passed + begin * in.channels : nullptr,
                                                       first, second, scratch);
                       });
}

/// Computes dx, which may be in.dy.
template <class T>
void input_gradient(const kernels::NormBackward<T>& in, const Normalization& norm, const NormGradients& gradients,
                    T* dx) {
  for_row_parts(in.rows, row_parts(in.rows, in.channels), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    kernels_of<T>().input_gradient(rows_from(in, begin, end), norm.scale.data(), gradients.slope.data(),
                                   gradients.offset.data(), dx + begin * in.channels);
  });
}

}  // namespace evener::engine::torch_engine
