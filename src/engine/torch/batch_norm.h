// Batch normalisation with the sum and the clamp that follow it, on our own kernels, for channels-last images; and over
// the samples of all replicas, in LibTorch's operations, for any device. Depthwise convolutions with the batch
// normalisations at their sides.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/kernels/kernels.h"
#include "engine/torch/rows.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

class DeviceExchange;

/// How batch normalisation sums over all replicas.
struct Replicas {
  std::function<void(std::span<double>)> sum;  // TrainerOptions::sum_over_replicas
  /// This replica has no samples: it computes on a placeholder whose contribution to every sum is zero.
  bool absent = false;
  /// Used instead of `sum` where devices exchange values directly; null: they don't.
  DeviceExchange* on_device = nullptr;
  std::int64_t samples = 0;  // of the whole batch, with on_device; 0 = not known
};

/// Two sums for each channel.
struct ChannelSums {
  ChannelSums() = default;
  explicit ChannelSums(std::int64_t channels)
      : first(static_cast<std::size_t>(channels)), second(static_cast<std::size_t>(channels)) {}
  ChannelSums(std::vector<double> one, std::vector<double> other) : first(std::move(one)), second(std::move(other)) {}
  ChannelSums& operator+=(const ChannelSums& other);

  std::vector<double> first, second;
};

/// Calls body(begin, end, first, second, scratch) on each thread's range of the rows, and sums what the calls add to
/// `first` and `second` (channels each). `scratch`: 2 * channels floats.
template <class Body>
ChannelSums sum_over_rows(std::int64_t rows, std::int64_t channels, const Body& body) {
  const auto count = static_cast<std::size_t>(channels);
  const std::int64_t parts = row_parts(rows, channels);
  std::vector<ChannelSums> partial(static_cast<std::size_t>(parts));
  for_row_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    auto& sums = partial[static_cast<std::size_t>(part)] = ChannelSums(channels);
    std::vector<float> scratch(2 * count);
    body(begin, end, sums.first.data(), sums.second.data(), scratch.data());
  });
  for (std::size_t part = 1; part < partial.size(); ++part) partial[0] += partial[part];
  return std::move(partial.front());
}

/// Throws Error if `count` values per channel are too few for a variance, naming `layer`. `replicas`: those that the
/// values belong to, for the message.
void require_variance(double count, const Replicas* replicas, const std::string& layer);

struct BatchNormLayer {
  at::Tensor weight, bias;                    // (C), float32
  at::Tensor running_mean, running_variance;  // (C), float32; updated in training
  double epsilon, momentum;
  bool training;
  bool frozen;  // in training: normalises by the running statistics, and doesn't update them; they are constants for
                // gradients
  kernels::Clamp clamp;  // infinite at both ends: none
  std::string name;      // for errors
  /// The replicas over whose samples the statistics in training are taken; null = this replica's samples alone.
  /// Outlives the backward pass.
  const Replicas* replicas = nullptr;
};

/// clamp(normalised(x) + residual); `x` (N, C, H, W), channels-last, or (N, C), in float32 or bfloat16; `residual`
/// likewise or undefined. Differentiable in training mode. Sums are taken in double over float32 blocks, the rest is
/// float32, and the result is rounded to x's type once.
at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& residual, const BatchNormLayer& layer);

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
NormalizationPtr running_normalization(const BatchNormLayer& layer);

/// Normalises by the batch's statistics, and updates the running ones. `sums`: over `rows` rows of x - pivot and its
/// square.
NormalizationPtr batch_normalization(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                                     const BatchNormLayer& layer);

/// The same from x (kernels::Kernels::moments), or from the running statistics where the layer is frozen or not in
/// training.
NormalizationPtr normalization_of(const at::Tensor& x, const BatchNormLayer& layer);

/// clamp(x * scale + shift + residual); the latter may be undefined.
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

/// normalised(x) in training mode with the layer's replicas; its clamp must be none. `x` (N, C, H, W) or (N, C),
/// float32 or 16 bits wide. Computes in float32 and updates the running statistics; waits for the device where the host
/// exchanges. Differentiable.
at::Tensor sync_batch_norm(const at::Tensor& x, const BatchNormLayer& layer);

/// What network::is_depthwise says yes to. `x` (N, C, H, W) in float32 or bfloat16, channels-last; `weight` (C, 1, K,
/// K) in float32, which is not rounded to x's type. Sums in float32. `before` and `after`: normalisations of x and of
/// the result; null: there is none. What is between is neither written to memory nor kept: normalised rows are computed
/// where they are needed, again in the backward pass. Differentiable.
at::Tensor depthwise_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                                 const BatchNormLayer* before = nullptr, const BatchNormLayer* after = nullptr);

}  // namespace evener::engine::torch_engine
