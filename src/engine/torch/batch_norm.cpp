#include "engine/torch/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/torch/device_exchange.h"
#include "engine/torch/rows.h"

namespace evener::engine::torch_engine {
namespace {

using kernels::Clamp;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Mean and biased variance of each channel over `count` rows.
struct Moments {
  std::vector<double> mean, variance;
  double count = 0;
};

/// The sums over all replicas.
ChannelSums over_replicas(const ChannelSums& sums, const Replicas& replicas) {
  const std::size_t channels = sums.first.size();
  std::vector<double> totals(2 * channels, 0);
  if (!replicas.absent) {
    std::copy(sums.first.begin(), sums.first.end(), totals.begin());
    std::copy(sums.second.begin(), sums.second.end(), totals.begin() + static_cast<std::ptrdiff_t>(channels));
  }
  replicas.sum(totals);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(channels);
  return {{totals.begin(), middle}, {middle, totals.end()}};
}

Moments moments_here(const ChannelSums& sums, const std::vector<float>& pivot, double count) {
  Moments moments;
  moments.count = count;
  for (std::size_t c = 0; c < pivot.size(); ++c) {
    const double offset = sums.first[c] / count;
    moments.mean.push_back(pivot[c] + offset);
    moments.variance.push_back(std::max(0.0, sums.second[c] / count - offset * offset));
  }
  return moments;
}

/// Each replica has its own pivot, so sums of x and x^2 without a pivot are exchanged. In double, of 16 digits, the
/// variance loses as many as (mean / deviation)^2 has: all of float32's 7 digits are left up to a mean of 10^4
/// deviations.
Moments moments_everywhere(const ChannelSums& sums, const std::vector<float>& pivot, double rows,
                           const Replicas& replicas) {
  const std::size_t channels = pivot.size();
  std::vector<double> totals(2 * channels + 1, 0);
  if (!replicas.absent) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double p = pivot[c];
      totals[c] = rows * p + sums.first[c];
      totals[channels + c] = sums.second[c] + 2 * p * sums.first[c] + rows * p * p;
    }
    totals.back() = rows;
  }
  replicas.sum(totals);
  Moments moments;
  moments.count = totals.back();
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = totals[c] / moments.count;
    moments.mean.push_back(mean);
    moments.variance.push_back(std::max(0.0, totals[channels + c] / moments.count - mean * mean));
  }
  return moments;
}

/// Computes the moments from the sums over `rows` rows of x - pivot and its square. `replicas`: those whose rows belong
/// to the same batch; null = only this one. Throws Error where a channel of `layer` has too few values for a variance.
Moments moments_of(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                   const Replicas* replicas, const std::string& layer) {
  const auto count = static_cast<double>(rows);
  Moments moments =
      replicas != nullptr ? moments_everywhere(sums, pivot, count, *replicas) : moments_here(sums, pivot, count);
  require_variance(moments.count, replicas, layer);
  return moments;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Clamp kNoClamp = {-kInfinity, kInfinity};

bool clamps(Clamp clamp) {
  return clamp.low != -kInfinity || clamp.high != kInfinity;
}

struct BatchNormGradients {
  at::Tensor x, residual, weight, bias;
};

/// `y`: undefined unless a residual was added and clamped.
template <class T>
BatchNormGradients gradients_of(const Normalization& norm, const Rows<T>& in, const at::Tensor& x, const at::Tensor& y,
                                const at::Tensor& dy, bool has_residual) {
  kernels::NormBackward<T> backward{in.data,           y.defined() ? Rows<T>(y).data : nullptr,
                                    Rows<T>(dy).data,  in.rows,
                                    in.channels,       norm.scale.data(),
                                    norm.shift.data(), norm.clamp};
  BatchNormGradients gradients;
  if (has_residual) gradients.residual = y.defined() ? at::empty_like(dy) : dy;
  T* const passed = y.defined() ? Rows<T>(gradients.residual).data : nullptr;
  const ChannelSums sums = gradient_sums(backward, norm, passed);
  if (passed != nullptr) {  // dy after the clamp was stored: no need to compute it again
    backward.dy = passed;
    backward.y = nullptr;
    backward.clamp = kNoClamp;
  }
  const NormGradients found = torch_engine::gradients_of(norm, sums);
  gradients.weight = found.weight;
  gradients.bias = found.bias;
  gradients.x = at::empty_like(x);
  input_gradient(backward, norm, found, Rows<T>(gradients.x).data);
  return gradients;
}

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const std::optional<at::Tensor>& term,
                            const at::Tensor& /*weight*/, const at::Tensor& /*bias*/, const BatchNormLayer& layer) {
    const at::Tensor residual = term.value_or(at::Tensor());
    const NormalizationPtr norm = normalization_of(x, layer);
    at::Tensor y = normalized(x, residual, *norm);
    const bool keep_y = residual.defined() && clamps(layer.clamp);
    ctx->save_for_backward({x, keep_y ? y : at::Tensor()});
    ctx->saved_data["norm"] = at::IValue::make_capsule(norm);
    ctx->saved_data["residual"] = residual.defined();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto tensors = ctx->get_saved_variables();
    const at::Tensor &x = tensors[0], &y = tensors[1];
    const auto norm = c10::static_intrusive_pointer_cast<Normalization>(ctx->saved_data["norm"].toCapsule());
    const bool has_residual = ctx->saved_data["residual"].toBool();
    const at::Tensor dy = as_rows(grads[0], x);
    const BatchNormGradients gradients =
        with_rows(x, [&]<class T>(const Rows<T>& in) { return gradients_of(*norm, in, x, y, dy, has_residual); });
    return {gradients.x, gradients.residual, gradients.weight, gradients.bias, {}};
  }
};

void set_affine(Normalization& norm, const BatchNormLayer& layer) {
  const float* weight = layer.weight.const_data_ptr<float>();
  const float* bias = layer.bias.const_data_ptr<float>();
  for (std::size_t c = 0; c < norm.mean.size(); ++c) {
    norm.scale.push_back(weight[c] * norm.inverse_deviation[c]);
    norm.shift.push_back(bias[c] - norm.mean[c] * norm.scale[c]);
  }
  norm.clamp = layer.clamp;
}

/// All dimensions but the channels'.
std::vector<std::int64_t> other_dimensions(const at::Tensor& x) {
  return x.dim() == 4 ? std::vector<std::int64_t>{0, 2, 3} : std::vector<std::int64_t>{0};
}

/// Reshapes (C) to (1, C, 1, 1) or (1, C), for broadcasting with x.
at::Tensor spread_over(const at::Tensor& values, const at::Tensor& x) {
  return x.dim() == 4 ? values.view({1, -1, 1, 1}) : values.view({1, -1});
}

/// Replaces `sums`, float64 on the device, by their sums over all replicas.
void add_up(at::Tensor& sums, const Replicas& replicas) {
  if (replicas.absent) sums.zero_();
  if (replicas.on_device != nullptr) return replicas.on_device->add_up(sums);
  at::Tensor host = sums.to(at::kCPU);
  replicas.sum({host.mutable_data_ptr<double>(), static_cast<std::size_t>(host.numel())});
  sums.copy_(host);
}

struct SyncedOrigin : torch::CustomClassHolder {
  explicit SyncedOrigin(const Replicas* others) : replicas(others) {}
  const Replicas* replicas;
};

class SyncBatchNormFunction : public torch::autograd::Function<SyncBatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const BatchNormLayer& layer) {
    const Replicas& replicas = *layer.replicas;
    const at::Tensor wide = x.to(at::kFloat);
    const std::int64_t channels = x.size(1), rows = x.numel() / channels;
    const auto found = at::var_mean(wide, other_dimensions(x), /*correction=*/0);
    const at::Tensor variance = std::get<0>(found).to(at::kDouble), mean = std::get<1>(found).to(at::kDouble);
    // Sums of x and of its square. In double, of 16 digits, the variance loses as many as (mean / deviation)^2 has: all
    // of float32's 7 digits are left up to a mean of 10^4 deviations.
    at::Tensor sums = at::cat({mean, variance + mean.square(), at::ones({1}, mean.options())}).mul_(rows);
    add_up(sums, replicas);
    const at::Tensor count = sums[2 * channels], all_mean = sums.narrow(0, 0, channels) / count;
    require_values(x, count, layer);
    const at::Tensor all_variance =
        (sums.narrow(0, channels, channels) / count - all_mean.square()).clamp_min_(0);  // biased
    const at::Tensor inverse = (all_variance + layer.epsilon).rsqrt().to(at::kFloat), centre = all_mean.to(at::kFloat);
    update(layer.running_mean, centre, layer.momentum);
    update(layer.running_variance, (all_variance * count / (count - 1)).to(at::kFloat), layer.momentum);
    ctx->save_for_backward({x, weight, centre, inverse, count});
    ctx->saved_data["origin"] = at::IValue::make_capsule(c10::make_intrusive<SyncedOrigin>(layer.replicas));
    const at::Tensor scale = weight * inverse;
    return (wide * spread_over(scale, x) + spread_over(bias - centre * scale, x)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3], &count = saved[4];
    const auto origin = c10::static_intrusive_pointer_cast<SyncedOrigin>(ctx->saved_data["origin"].toCapsule());
    const at::Tensor dy = grads[0].to(at::kFloat);
    const at::Tensor centred = x.to(at::kFloat) - spread_over(mean, x);
    const auto others = other_dimensions(x);
    // The same sums as our CPU kernels exchange, so that replicas on CPUs and GPUs fit together: of dy, and of dy * (x
    // - mean).
    const at::Tensor sum = dy.sum(others), product = (dy * centred).sum(others);
    at::Tensor totals = at::cat({sum, product}).to(at::kDouble);
    add_up(totals, *origin->replicas);
    // dx = w / deviation * (dy - mean(dy) - x^ * mean(dy * x^)): the means are the whole batch's, while the gradients
    // of weight and bias stay this replica's part of their sums, as all gradients do.
    const at::Tensor means = (totals / count).to(at::kFloat);
    const at::Tensor mean_dy = means.narrow(0, 0, x.size(1));
    const at::Tensor slope = means.narrow(0, x.size(1), x.size(1)) * inverse * inverse;
    const at::Tensor dx =
        (dy - spread_over(mean_dy, x) - centred * spread_over(slope, x)) * spread_over(weight.detach() * inverse, x);
    return {dx.to(x.scalar_type()), product * inverse, sum, {}};
  }

 private:
  /// Throws Error where there are too few values for a variance. Doesn't wait for the device where it exchanges the
  /// values itself.
  static void require_values(const at::Tensor& x, const at::Tensor& count, const BatchNormLayer& layer) {
    const Replicas& replicas = *layer.replicas;
    const std::int64_t of_sample = x.numel() / x.size(1) / x.size(0);
    if (replicas.on_device == nullptr) {
      require_variance(count.item<double>(), &replicas, layer.name);
    } else if (replicas.samples > 0) {
      require_variance(static_cast<double>(replicas.samples * of_sample), &replicas, layer.name);
    }
  }

  static void update(at::Tensor running, const at::Tensor& value, double momentum) {
    running.mul_(1 - momentum).add_(value, momentum);
  }
};

}  // namespace

ChannelSums& ChannelSums::operator+=(const ChannelSums& other) {
  std::ranges::transform(first, other.first, first.begin(), std::plus());
  std::ranges::transform(second, other.second, second.begin(), std::plus());
  return *this;
}

void require_variance(double count, const Replicas* replicas, const std::string& layer) {
  if (count >= 2) return;
  throw Error("batch-norm layer '" + layer + "' has " + std::to_string(static_cast<std::int64_t>(count)) +
              " value(s) per channel in this batch" + (replicas != nullptr ? ", all replicas taken together" : "") +
              ", too few for a variance. Use another --batch or a larger --size");
}

at::Tensor batch_norm(const at::Tensor& x, const at::Tensor& residual, const BatchNormLayer& layer) {
  if (layer.training) {
    std::optional<at::Tensor> term;  // LibTorch asks an undefined tensor for its device, an absent one not
    if (residual.defined()) term = residual;
    return BatchNormFunction::apply(x, term, layer.weight, layer.bias, layer);
  }
  return normalized(x, residual, *running_normalization(layer));
}

NormalizationPtr running_normalization(const BatchNormLayer& layer) {
  auto norm = c10::make_intrusive<Normalization>();
  norm->count = std::numeric_limits<double>::infinity();
  const float* mean = layer.running_mean.const_data_ptr<float>();
  const float* variance = layer.running_variance.const_data_ptr<float>();
  for (std::int64_t c = 0; c < layer.running_mean.numel(); ++c) {
    norm->mean.push_back(mean[c]);
    norm->inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance[c] + layer.epsilon)));
  }
  set_affine(*norm, layer);
  return norm;
}

NormalizationPtr batch_normalization(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                                     const BatchNormLayer& layer) {
  const Moments moments = moments_of(sums, pivot, rows, layer.replicas, layer.name);
  auto norm = c10::make_intrusive<Normalization>();
  norm->count = moments.count;
  norm->replicas = layer.replicas;
  float* running_mean = layer.running_mean.mutable_data_ptr<float>();
  float* running_variance = layer.running_variance.mutable_data_ptr<float>();
  for (std::size_t c = 0; c < pivot.size(); ++c) {
    const double mean = moments.mean[c], variance = moments.variance[c];
    norm->mean.push_back(static_cast<float>(mean));
    norm->inverse_deviation.push_back(static_cast<float>(1 / std::sqrt(variance + layer.epsilon)));
    const double unbiased = variance * moments.count / (moments.count - 1);
    running_mean[c] = static_cast<float>((1 - layer.momentum) * running_mean[c] + layer.momentum * mean);
    running_variance[c] = static_cast<float>((1 - layer.momentum) * running_variance[c] + layer.momentum * unbiased);
  }
  set_affine(*norm, layer);
  return norm;
}

NormalizationPtr normalization_of(const at::Tensor& x, const BatchNormLayer& layer) {
  if (!layer.training || layer.frozen) return running_normalization(layer);
  return with_rows(x, [&]<class T>(const Rows<T>& in) {
    // Sums of x - pivot lose no digits where the mean is large against the deviation. Any value of the channel will do.
    const auto* const first_row = x.const_data_ptr<typename Rows<T>::Scalar>();
    const std::vector<float> pivot(first_row, first_row + in.channels);
    const auto sums = sum_over_rows(
        in.rows, in.channels, [&](std::int64_t begin, std::int64_t end, double* first, double* second, float* scratch) {
          kernels_of<T>().moments(in.data + begin * in.channels, end - begin, in.channels, pivot.data(), first, second,
                                  scratch);
        });
    return batch_normalization(sums, pivot, in.rows, layer);
  });
}

at::Tensor normalized(const at::Tensor& x, const at::Tensor& residual, const Normalization& norm) {
  at::Tensor y = at::empty_like(x);
  with_rows(x, [&]<class T>(const Rows<T>& in) {
    const Rows<T> out(y);
    const T* other = residual.defined() ? Rows<T>(residual).data : nullptr;
    for_row_parts(in.rows, row_parts(in.rows, in.channels), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * in.channels;
      kernels_of<T>().normalize(in.data + at, other != nullptr ? other + at : nullptr, out.data + at, end - begin,
                                in.channels, norm.scale.data(), norm.shift.data(), norm.clamp);
    });
  });
  return y;
}

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

at::Tensor sync_batch_norm(const at::Tensor& x, const BatchNormLayer& layer) {
  return SyncBatchNormFunction::apply(x, layer.weight, layer.bias, layer);
}

}  // namespace evener::engine::torch_engine
