#include "engine/torch/fake_quantize.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

namespace evener::engine::torch_engine {
namespace {

using network::Levels;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// x / scale, in float32.
at::Tensor in_steps(const at::Tensor& x, const at::Tensor& scale) {
  return x.to(at::kFloat).div(scale.clamp_min(network::kLeastScale));
}

class FakeQuantizeFunction : public torch::autograd::Function<FakeQuantizeFunction> {
 public:
  /// `scale`: of a shape that is broadcast over `x`.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double least,
                            double most, double gradient_factor) {
    ctx->save_for_backward({x, scale});
    ctx->saved_data["least"] = least;
    ctx->saved_data["most"] = most;
    ctx->saved_data["gradient_factor"] = gradient_factor;
    const at::Tensor levels = in_steps(x, scale).round_().clamp_(least, most);
    return levels.mul_(scale.clamp_min(network::kLeastScale)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &dy = grads[0];
    const double least = ctx->saved_data["least"].toDouble(), most = ctx->saved_data["most"].toDouble();
    const at::Tensor steps = in_steps(x, scale);
    const at::Tensor inside = steps.ge(least).logical_and_(steps.le(most));
    at::Tensor dx, dscale;
    if (ctx->needs_input_grad(0)) dx = dy * inside;
    if (ctx->needs_input_grad(1)) {
      // round(v) - v between the levels, the level itself beyond them.
      const at::Tensor slope = steps.round().clamp_(least, most).sub_(steps.mul(inside));
      dscale = at::sum_to(slope.mul_(dy), scale.sizes()).mul_(ctx->saved_data["gradient_factor"].toDouble());
    }
    return {dx, dscale, {}, {}, {}};
  }
};

at::Tensor fake_quantize(const at::Tensor& x, const at::Tensor& scale, Levels levels, std::int64_t values) {
  const double factor = 1 / std::sqrt(static_cast<double>(values) * static_cast<double>(levels.most));
  return FakeQuantizeFunction::apply(x, scale, static_cast<double>(levels.least), static_cast<double>(levels.most),
                                     factor);
}

}  // namespace

at::Tensor fake_quantize_activations(const at::Tensor& x, const at::Tensor& scale, bool is_signed) {
  return fake_quantize(x, scale, network::activation_levels(is_signed), x.numel() / x.size(0));
}

at::Tensor fake_quantize_weights(const at::Tensor& weight, const at::Tensor& scale, int bits) {
  std::vector<std::int64_t> per_channel(static_cast<std::size_t>(weight.dim()), 1);
  per_channel.front() = -1;
  return fake_quantize(weight, scale.view(per_channel), network::weight_levels(bits), weight.numel() / weight.size(0));
}

}  // namespace evener::engine::torch_engine
