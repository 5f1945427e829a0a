#include "engine/torch/sync_batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "engine/torch/device_exchange.h"

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// All dimensions but the channels'.
std::vector<std::int64_t> other_dimensions(const at::Tensor& x) {
  return x.dim() == 4 ? std::vector<std::int64_t>{0, 2, 3} : std::vector<std::int64_t>{0};
}

/// Reshapes (C) to (1, C, 1, 1) or (1, C), for broadcasting with x.
at::Tensor along_channels(const at::Tensor& values, const at::Tensor& x) {
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
                            const BatchNormTensors& tensors, const BatchNormOptions& options) {
    const Replicas& replicas = *options.replicas;
    const at::Tensor wide = x.to(at::kFloat);
    const std::int64_t channels = x.size(1), rows = x.numel() / channels;
    const auto found = at::var_mean(wide, other_dimensions(x), /*correction=*/0);
    const at::Tensor variance = std::get<0>(found).to(at::kDouble), mean = std::get<1>(found).to(at::kDouble);
    // Sums of x and of its square. In double, of 16 digits, the variance loses as many as (mean / deviation)^2 has: all
    // of float32's 7 digits are left up to a mean of 10^4 deviations.
    at::Tensor sums = at::cat({mean, variance + mean.square(), at::ones({1}, mean.options())}).mul_(rows);
    add_up(sums, replicas);
    const at::Tensor count = sums[2 * channels], all_mean = sums.narrow(0, 0, channels) / count;
    require_values(x, count, options);
    const at::Tensor all_variance =
        (sums.narrow(0, channels, channels) / count - all_mean.square()).clamp_min_(0);  // biased
    const at::Tensor inverse = (all_variance + options.epsilon).rsqrt().to(at::kFloat),
                     centre = all_mean.to(at::kFloat);
    update(tensors.running_mean, centre, options.momentum);
    update(tensors.running_variance, (all_variance * count / (count - 1)).to(at::kFloat), options.momentum);
    ctx->save_for_backward({x, weight, centre, inverse, count});
    ctx->saved_data["origin"] = at::IValue::make_capsule(c10::make_intrusive<SyncedOrigin>(options.replicas));
    const at::Tensor scale = weight * inverse;
    return (wide * along_channels(scale, x) + along_channels(bias - centre * scale, x)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3], &count = saved[4];
    const auto origin = c10::static_intrusive_pointer_cast<SyncedOrigin>(ctx->saved_data["origin"].toCapsule());
    const at::Tensor dy = grads[0].to(at::kFloat);
    const at::Tensor centred = x.to(at::kFloat) - along_channels(mean, x);
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
    const at::Tensor dx = (dy - along_channels(mean_dy, x) - centred * along_channels(slope, x)) *
                          along_channels(weight.detach() * inverse, x);
    return {dx.to(x.scalar_type()), product * inverse, sum, {}, {}};
  }

 private:
  /// Throws Error where there are too few values for a variance. Doesn't wait for the device where it exchanges the
  /// values itself.
  static void require_values(const at::Tensor& x, const at::Tensor& count, const BatchNormOptions& options) {
    const Replicas& replicas = *options.replicas;
    const std::int64_t of_sample = x.numel() / x.size(1) / x.size(0);
    if (replicas.on_device == nullptr) {
      require_variance(count.item<double>(), &replicas, options.layer);
    } else if (replicas.samples > 0) {
      require_variance(static_cast<double>(replicas.samples * of_sample), &replicas, options.layer);
    }
  }

  static void update(at::Tensor running, const at::Tensor& value, double momentum) {
    running.mul_(1 - momentum).add_(value, momentum);
  }
};

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, const BatchNormOptions& options) {
  return SyncBatchNormFunction::apply(x, tensors.weight, tensors.bias, tensors, options);
}

}  // namespace evener::engine::torch_engine
