#include "engine/torch/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <optional>

#include "engine/torch/channel_sums.h"
#include "engine/torch/normalization.h"
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

struct BatchNormGradients {
  at::Tensor x, residual, weight, bias;
};

/// `y`: undefined unless a residual was added and clamped.
template <class T>
BatchNormGradients gradients_of(const Normalization& norm, const at::Tensor& x, const at::Tensor& y,
                                const at::Tensor& dy, bool has_residual) {
  const Rows<T> in(x);
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
                            const at::Tensor& /*weight*/, const at::Tensor& /*bias*/, const BatchNormTensors& tensors,
                            const BatchNormOptions& options) {
    const at::Tensor residual = term.value_or(at::Tensor());
    const bool wide = x.scalar_type() == at::kFloat;
    const NormalizationPtr norm =
        wide ? normalization_of<float>(x, tensors, options) : normalization_of<kernels::BFloat16>(x, tensors, options);
    at::Tensor y = wide ? normalized<float>(x, residual, *norm) : normalized<kernels::BFloat16>(x, residual, *norm);
    const bool keep_y = residual.defined() && clamps(options.clamp);
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
    const BatchNormGradients gradients = x.scalar_type() == at::kFloat
                                             ? gradients_of<float>(*norm, x, y, dy, has_residual)
                                             : gradients_of<kernels::BFloat16>(*norm, x, y, dy, has_residual);
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
  const NormalizationPtr norm = running_normalization(tensors, options);
  return x.scalar_type() == at::kFloat ? normalized<float>(x, residual, *norm)
                                       : normalized<kernels::BFloat16>(x, residual, *norm);
}

}  // namespace evener::engine::torch_engine
