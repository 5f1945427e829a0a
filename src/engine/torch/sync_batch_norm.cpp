#include "engine/torch/sync_batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <utility>
#include <vector>

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// All dimensions but the channels'.
std::vector<std::int64_t> other_dimensions(const at::Tensor& x) {
  return x.dim() == 4 ? std::vector<std::int64_t>{0, 2, 3} : std::vector<std::int64_t>{0};
}

/// (C) as (1, C, 1, 1) or (1, C).
at::Tensor along_channels(const at::Tensor& values, const at::Tensor& x) {
  return x.dim() == 4 ? values.view({1, -1, 1, 1}) : values.view({1, -1});
}

std::vector<double> host_values(const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kDouble).contiguous();
  const double* data = host.const_data_ptr<double>();
  return {data, data + host.numel()};
}

at::Tensor device_values(const std::vector<double>& values, const at::Tensor& like) {
  return at::tensor(values, at::kDouble).to(at::kFloat).to(like.device());
}

struct SyncedOrigin : torch::CustomClassHolder {
  SyncedOrigin(double n, const Replicas* others) : count(n), replicas(others) {}
  double count;
  const Replicas* replicas;
};

class SyncBatchNormFunction : public torch::autograd::Function<SyncBatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const BatchNormTensors& tensors, const BatchNormOptions& options) {
    const at::Tensor wide = x.to(at::kFloat);
    const std::int64_t rows = x.numel() / x.size(1);
    const auto [variance, mean] = at::var_mean(wide, other_dimensions(x), /*correction=*/0);
    // About this replica's mean the first sum is 0, and the second its variance times the rows.
    const std::vector<double> own_mean = host_values(mean);
    ChannelSums sums{std::vector<double>(own_mean.size(), 0.0), host_values(variance)};
    for (double& value : sums.second) value *= static_cast<double>(rows);
    const std::vector<float> pivot(own_mean.begin(), own_mean.end());
    const Moments moments = moments_of(sums, pivot, rows, options.replicas, options.layer);

    std::vector<double> inverse, unbiased;
    for (const double value : moments.variance) {
      inverse.push_back(1 / std::sqrt(value + options.epsilon));
      unbiased.push_back(value * moments.count / (moments.count - 1));
    }
    const at::Tensor all_mean = device_values(moments.mean, x), all_inverse = device_values(inverse, x);
    update(tensors.running_mean, all_mean, options.momentum);
    update(tensors.running_variance, device_values(unbiased, x), options.momentum);
    ctx->save_for_backward({x, weight, all_mean, all_inverse});
    ctx->saved_data["origin"] =
        at::IValue::make_capsule(c10::make_intrusive<SyncedOrigin>(moments.count, options.replicas));
    const at::Tensor scale = weight * all_inverse;
    return (wide * along_channels(scale, x) + along_channels(bias - all_mean * scale, x)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const auto origin = c10::static_intrusive_pointer_cast<SyncedOrigin>(ctx->saved_data["origin"].toCapsule());
    const at::Tensor dy = grads[0].to(at::kFloat);
    const at::Tensor centred = x.to(at::kFloat) - along_channels(mean, x);
    const auto others = other_dimensions(x);
    // The sums that our CPU kernels exchange too: of dy, and of dy * (x - mean).
    const at::Tensor sum = dy.sum(others), product = (dy * centred).sum(others);
    const ChannelSums totals = over_replicas({host_values(sum), host_values(product)}, *origin->replicas);
    // dx = w / deviation * (dy - mean(dy) - x^ * mean(dy * x^)): the means are the whole batch's, while the gradients
    // of weight and bias stay this replica's part of their sums, as all gradients do.
    const at::Tensor mean_dy = device_values(totals.first, x) / origin->count;
    const at::Tensor slope = device_values(totals.second, x) / origin->count * inverse * inverse;
    const at::Tensor dx = (dy - along_channels(mean_dy, x) - centred * along_channels(slope, x)) *
                          along_channels(weight.detach() * inverse, x);
    return {dx.to(x.scalar_type()), product * inverse, sum, {}, {}};
  }

 private:
  static void update(at::Tensor running, const at::Tensor& value, double momentum) {
    running.mul_(1 - momentum).add_(value, momentum);
  }
};

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, const BatchNormOptions& options) {
  return SyncBatchNormFunction::apply(x, tensors.weight, tensors.bias, tensors, options);
}

}  // namespace evener::engine::torch_engine
