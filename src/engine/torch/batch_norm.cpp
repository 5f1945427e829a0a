#include "engine/torch/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/torch/channel_sums.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::Clamp;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Clamp kNoClamp = {-kInfinity, kInfinity};

bool clamps(Clamp clamp) {
  return clamp.low != -kInfinity || clamp.high != kInfinity;
}

struct Statistics {
  std::vector<float> mean, inverse_deviation;
  double count = 0;  // of values per channel that they were computed from
};

/// Computes the mean and 1 / sqrt(biased variance + epsilon) of each channel, and updates the running statistics.
template <class T>
Statistics batch_statistics(const at::Tensor& x, const BatchNormTensors& tensors, const BatchNormOptions& options) {
  const Rows<T> in(x);
  // Sums of x - pivot lose no digits where the mean is large against the deviation. Any value of the channel will do.
  std::vector<float> pivot(static_cast<std::size_t>(in.channels));
  for (std::int64_t c = 0; c < in.channels; ++c) {
    pivot[static_cast<std::size_t>(c)] = x.const_data_ptr<typename Rows<T>::Scalar>()[c];
  }
  const auto sums = sum_over_rows(
      in.rows, in.channels, [&](std::int64_t begin, std::int64_t end, double* first, double* second, float* scratch) {
        kernels_of<T>().moments(in.data + begin * in.channels, end - begin, in.channels, pivot.data(), first, second,
                                scratch);
      });
  const Moments moments = moments_of(sums, pivot, in.rows, options.replicas, options.layer);
  Statistics statistics;
  statistics.count = moments.count;
  float* running_mean = tensors.running_mean.mutable_data_ptr<float>();
  float* running_variance = tensors.running_variance.mutable_data_ptr<float>();
  for (std::size_t c = 0; c < pivot.size(); ++c) {
    const double mean = moments.mean[c], variance = moments.variance[c];
    statistics.mean.push_back(static_cast<float>(mean));
    statistics.inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance + options.epsilon)));
    const double unbiased = variance * moments.count / (moments.count - 1);
    running_mean[c] = static_cast<float>((1 - options.momentum) * running_mean[c] + options.momentum * mean);
    running_variance[c] =
        static_cast<float>((1 - options.momentum) * running_variance[c] + options.momentum * unbiased);
  }
  return statistics;
}

Statistics running_statistics(const BatchNormTensors& tensors, double epsilon) {
  Statistics statistics;
  statistics.count = std::numeric_limits<double>::infinity();  // no value of the batch moves them
  const float* mean = tensors.running_mean.const_data_ptr<float>();
  const float* variance = tensors.running_variance.const_data_ptr<float>();
  for (std::int64_t c = 0; c < tensors.running_mean.numel(); ++c) {
    statistics.mean.push_back(mean[c]);
    statistics.inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance[c] + epsilon)));
  }
  return statistics;
}

/// y = x * scale + shift is the normalisation.
struct Affine {
  std::vector<float> scale, shift;
};

Affine affine_of(const Statistics& statistics, const at::Tensor& weight, const at::Tensor& bias) {
  Affine affine;
  const float* w = weight.const_data_ptr<float>();
  const float* b = bias.const_data_ptr<float>();
  for (std::size_t c = 0; c < statistics.mean.size(); ++c) {
    affine.scale.push_back(w[c] * statistics.inverse_deviation[c]);
    affine.shift.push_back(b[c] - statistics.mean[c] * affine.scale[c]);
  }
  return affine;
}

template <class T>
at::Tensor normalized(const at::Tensor& x, const at::Tensor& residual, const Affine& affine, Clamp clamp) {
  at::Tensor y = at::empty_like(x);
  const Rows<T> in(x), out(y);
  const T* other = residual.defined() ? Rows<T>(residual).data : nullptr;
  for_row_parts(in.rows, row_parts(in.rows, in.channels), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * in.channels;
    kernels_of<T>().normalize(in.data + at, other != nullptr ? other + at : nullptr, out.data + at, end - begin,
                              in.channels, affine.scale.data(), affine.shift.data(), clamp);
  });
  return y;
}

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

/// Saved for the backward pass, besides tensors.
struct BatchNormOrigin : torch::CustomClassHolder {
  BatchNormOrigin(Clamp c, bool r, double n, const Replicas* others)
      : clamp(c), residual(r), count(n), replicas(others) {}
  Clamp clamp;
  bool residual;
  double count;
  const Replicas* replicas;
};

struct BatchNormGradients {
  at::Tensor x, residual, weight, bias;
};

struct Saved {
  at::Tensor x, y;  // y only where a residual was added and clamped
  at::Tensor weight;
  Statistics statistics;
  Affine affine;
  c10::intrusive_ptr<BatchNormOrigin> origin;
};

template <class T>
BatchNormGradients gradients_of(const Saved& saved, const at::Tensor& dy) {
  const Rows<T> in(saved.x);
  kernels::NormBackward<T> backward{in.data,
                                    saved.y.defined() ? Rows<T>(saved.y).data : nullptr,
                                    Rows<T>(dy).data,
                                    in.rows,
                                    in.channels,
                                    saved.affine.scale.data(),
                                    saved.affine.shift.data(),
                                    saved.origin->clamp};
  BatchNormGradients gradients;
  if (saved.origin->residual) gradients.residual = saved.y.defined() ? at::empty_like(dy) : dy;
  T* const passed = saved.y.defined() ? Rows<T>(gradients.residual).data : nullptr;
  const auto &mean = saved.statistics.mean, &inverse = saved.statistics.inverse_deviation;
  const auto sums = sum_over_rows(
      in.rows, in.channels, [&](std::int64_t begin, std::int64_t end, double* first, double* second, float* scratch) {
        kernels_of<T>().gradient_sums(rows_from(backward, begin, end), mean.data(),
                                      passed != nullptr ? passed + begin * in.channels : nullptr, first, second,
                                      scratch);
      });
  if (passed != nullptr) {  // dy after the clamp was stored: no need to compute it again
    backward.dy = passed;
    backward.y = nullptr;
    backward.clamp = kNoClamp;
  }

  // dx = w / deviation * (g - mean(g) - x^ * mean(g * x^)), x^ = (x - mean) / deviation (Ioffe, Szegedy 2015), as
  // a * g + b * x + c. The means are the whole batch's; the gradients of weight and bias stay this replica's part of
  // their sums, as all gradients do.
  const Replicas* const replicas = saved.origin->replicas;
  const ChannelSums totals = replicas != nullptr ? over_replicas(sums, *replicas) : sums;
  gradients.weight = at::empty_like(saved.weight);
  gradients.bias = at::empty_like(saved.weight);
  float* dweight = gradients.weight.mutable_data_ptr<float>();
  float* dbias = gradients.bias.mutable_data_ptr<float>();
  std::vector<float> b(mean.size()), c(mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    dbias[i] = static_cast<float>(sums.first[i]);
    dweight[i] = static_cast<float>(sums.second[i] * inverse[i]);
    const double a = saved.affine.scale[i], count = saved.origin->count;
    const double slope = -a * inverse[i] * inverse[i] * totals.second[i] / count;
    b[i] = static_cast<float>(slope);
    c[i] = static_cast<float>(-a * totals.first[i] / count - slope * mean[i]);
  }
  gradients.x = at::empty_like(saved.x);
  const Rows<T> out(gradients.x);
  for_row_parts(in.rows, row_parts(in.rows, in.channels), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    kernels_of<T>().input_gradient(rows_from(backward, begin, end), saved.affine.scale.data(), b.data(), c.data(),
                                   out.data + begin * in.channels);
  });
  return gradients;
}

/// The context's saved data holds no plain vectors, so they are stored as tensors.
at::Tensor tensor_of(const std::vector<float>& values) {
  return at::tensor(values, at::kFloat);
}
std::vector<float> vector_of(const at::Tensor& tensor) {
  const float* data = tensor.const_data_ptr<float>();
  return {data, data + tensor.numel()};
}

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const std::optional<at::Tensor>& term,
                            const at::Tensor& weight, const at::Tensor& bias, const BatchNormTensors& tensors,
                            const BatchNormOptions& options) {
    const bool wide = x.scalar_type() == at::kFloat;
    const at::Tensor residual = term.value_or(at::Tensor());
    const Statistics statistics = options.frozen ? running_statistics(tensors, options.epsilon)
                                  : wide         ? batch_statistics<float>(x, tensors, options)
                                                 : batch_statistics<kernels::BFloat16>(x, tensors, options);
    const Affine affine = affine_of(statistics, weight, bias);
    at::Tensor y = wide ? normalized<float>(x, residual, affine, options.clamp)
                        : normalized<kernels::BFloat16>(x, residual, affine, options.clamp);
    const bool keep_y = residual.defined() && clamps(options.clamp);
    ctx->save_for_backward({x, keep_y ? y : at::Tensor(), weight, tensor_of(statistics.mean),
                            tensor_of(statistics.inverse_deviation), tensor_of(affine.scale), tensor_of(affine.shift)});
    ctx->saved_data["origin"] = at::IValue::make_capsule(c10::make_intrusive<BatchNormOrigin>(
        options.clamp, residual.defined(), statistics.count, options.frozen ? nullptr : options.replicas));
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto tensors = ctx->get_saved_variables();
    Saved saved;
    saved.x = tensors[0];
    saved.y = tensors[1];
    saved.weight = tensors[2];
    saved.origin = c10::static_intrusive_pointer_cast<BatchNormOrigin>(ctx->saved_data["origin"].toCapsule());
    saved.statistics = {vector_of(tensors[3]), vector_of(tensors[4]), saved.origin->count};
    saved.affine = {vector_of(tensors[5]), vector_of(tensors[6])};
    const at::Tensor dy = as_rows(grads[0], saved.x);
    const BatchNormGradients gradients = saved.x.scalar_type() == at::kFloat
                                             ? gradients_of<float>(saved, dy)
                                             : gradients_of<kernels::BFloat16>(saved, dy);
    return {gradients.x, gradients.residual, gradients.weight, gradients.bias, {}, {}};
  }
};

}  // namespace

at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& residual, const BatchNormTensors& tensors,
                      const BatchNormOptions& options) {
  if (options.training) {
    std::optional<at::Tensor> term;  // LibTorch asks an undefined tensor for its device, an absent one not
    if (residual.defined()) term = residual;
    return BatchNormFunction::apply(x, term, tensors.weight, tensors.bias, tensors, options);
  }
  const Affine affine = affine_of(running_statistics(tensors, options.epsilon), tensors.weight, tensors.bias);
  return x.scalar_type() == at::kFloat ? normalized<float>(x, residual, affine, options.clamp)
                                       : normalized<kernels::BFloat16>(x, residual, affine, options.clamp);
}

}  // namespace evener::engine::torch_engine
