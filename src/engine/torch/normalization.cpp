#include "engine/torch/normalization.h"

#include <cmath>
#include <limits>

namespace evener::engine::torch_engine {
namespace {

void set_affine(Normalization& norm, const BatchNormTensors& tensors, const BatchNormOptions& options) {
  const float* weight = tensors.weight.const_data_ptr<float>();
  const float* bias = tensors.bias.const_data_ptr<float>();
  for (std::size_t c = 0; c < norm.mean.size(); ++c) {
    norm.scale.push_back(weight[c] * norm.inverse_deviation[c]);
    norm.shift.push_back(bias[c] - norm.mean[c] * norm.scale[c]);
  }
  norm.clamp = options.clamp;
}

}  // namespace

NormalizationPtr running_normalization(const BatchNormTensors& tensors, const BatchNormOptions& options) {
  auto norm = c10::make_intrusive<Normalization>();
  norm->count = std::numeric_limits<double>::infinity();
  const float* mean = tensors.running_mean.const_data_ptr<float>();
  const float* variance = tensors.running_variance.const_data_ptr<float>();
  for (std::int64_t c = 0; c < tensors.running_mean.numel(); ++c) {
    norm->mean.push_back(mean[c]);
    norm->inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance[c] + options.epsilon)));
  }
  set_affine(*norm, tensors, options);
  return norm;
}

NormalizationPtr batch_normalization(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                                     const BatchNormTensors& tensors, const BatchNormOptions& options) {
  const Moments moments = moments_of(sums, pivot, rows, options.replicas, options.layer);
  auto norm = c10::make_intrusive<Normalization>();
  norm->count = moments.count;
  norm->replicas = options.replicas;
  float* running_mean = tensors.running_mean.mutable_data_ptr<float>();
  float* running_variance = tensors.running_variance.mutable_data_ptr<float>();
  for (std::size_t c = 0; c < pivot.size(); ++c) {
    const double mean = moments.mean[c], variance = moments.variance[c];
    norm->mean.push_back(static_cast<float>(mean));
    norm->inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance + options.epsilon)));
    const double unbiased = variance * moments.count / (moments.count - 1);
    running_mean[c] = static_cast<float>((1 - options.momentum) * running_mean[c] + options.momentum * mean);
    running_variance[c] =
        static_cast<float>((1 - options.momentum) * running_variance[c] + options.momentum * unbiased);
  }
  set_affine(*norm, tensors, options);
  return norm;
}

template <class T>
NormalizationPtr normalization_of(const at::Tensor& x, const BatchNormTensors& tensors,
                                  const BatchNormOptions& options) {
  if (!options.training || options.frozen) return running_normalization(tensors, options);
  const Rows<T> in(x);
  // Sums of x - pivot lose no digits where the mean is large against the deviation. Any value of the channel will do.
  std::vector<float> pivot;
  for (std::int64_t c = 0; c < in.channels; ++c) {
    pivot.push_back(x.const_data_ptr<typename Rows<T>::Scalar>()[c]);
  }
  const auto sums = sum_over_rows(
      in.rows, in.channels, [&](std::int64_t begin, std::int64_t end, double* first, double* second, float* scratch) {
        kernels_of<T>().moments(in.data + begin * in.channels, end - begin, in.channels, pivot.data(), first, second,
                                scratch);
      });
  return batch_normalization(sums, pivot, in.rows, tensors, options);
}

template NormalizationPtr normalization_of<float>(const at::Tensor&, const BatchNormTensors&, const BatchNormOptions&);
template NormalizationPtr normalization_of<kernels::BFloat16>(const at::Tensor&, const BatchNormTensors&,
                                                              const BatchNormOptions&);

template <class T>
at::Tensor normalized(const at::Tensor& x, const at::Tensor& residual, const Normalization& norm) {
  at::Tensor y = at::empty_like(x);
  const Rows<T> in(x), out(y);
  const T* other = residual.defined() ? Rows<T>(residual).data : nullptr;
  for_row_parts(in.rows, row_parts(in.rows, in.channels), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * in.channels;
    kernels_of<T>().normalize(in.data + at, other != nullptr ? other + at : nullptr, out.data + at, end - begin,
                              in.channels, norm.scale.data(), norm.shift.data(), norm.clamp);
  });
  return y;
}

template at::Tensor normalized<float>(const at::Tensor&, const at::Tensor&, const Normalization&);
template at::Tensor normalized<kernels::BFloat16>(const at::Tensor&, const at::Tensor&, const Normalization&);

NormGradients gradients_of(const Normalization& norm, const ChannelSums& sums) {
  // dx = w / deviation * (g - mean(g) - x^ * mean(g * x^)), x^ = (x - mean) / deviation (Ioffe, Szegedy 2015). The
  // means are the whole batch's.
  const ChannelSums totals = norm.replicas != nullptr ? over_replicas(sums, *norm.replicas) : sums;
  const auto channels = static_cast<std::int64_t>(norm.mean.size());
  NormGradients gradients;
  gradients.weight = at::empty({channels}, at::kFloat);
  gradients.bias = at::empty({channels}, at::kFloat);
  float* dweight = gradients.weight.mutable_data_ptr<float>();
  float* dbias = gradients.bias.mutable_data_ptr<float>();
  for (std::size_t c = 0; c < norm.mean.size(); ++c) {
    dbias[c] = static_cast<float>(sums.first[c]);
    dweight[c] = static_cast<float>(sums.second[c] * norm.inverse_deviation[c]);
    const double scale = norm.scale[c];
    const double slope = -scale * norm.inverse_deviation[c] * norm.inverse_deviation[c] * totals.second[c] / norm.count;
    gradients.slope.push_back(static_cast<float>(slope));
    gradients.offset.push_back(static_cast<float>(-scale * totals.first[c] / norm.count - slope * norm.mean[c]));
  }
  return gradients;
}

}  // namespace evener::engine::torch_engine
