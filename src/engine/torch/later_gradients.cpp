#include "engine/torch/later_gradients.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The parameters, cast to the type that a layer computes in; a missing bias is an undefined tensor.
struct Cast {
  at::Tensor weight, bias;
};

Cast cast_to(at::ScalarType type, const LaterParameters& parameters) {
  return {parameters.parameter(0).detach().to(type),
          parameters.size() > 1 ? parameters.parameter(1).detach().to(type) : at::Tensor()};
}

/// Casts gradients to float32, the type of parameters.
std::vector<at::Tensor> widened(std::initializer_list<at::Tensor> gradients) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& gradient : gradients) {
    if (gradient.defined()) wide.push_back(gradient.to(at::kFloat));
  }
  return wide;
}

/// The saved tensors that both backward passes begin with.
struct Saved {
  explicit Saved(AutogradContext* ctx)
      : x(ctx->get_saved_variables()[0].detach()),
        weight(ctx->get_saved_variables()[1]),
        parameters(c10::static_intrusive_pointer_cast<LaterParameters>(ctx->saved_data["parameters"].toCapsule())) {}

  at::Tensor x, weight;
  LaterParametersPtr parameters;
};

void save(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const LaterParametersPtr& parameters) {
  ctx->save_for_backward({x, weight});
  ctx->saved_data["parameters"] = at::IValue::make_capsule(parameters);
}

class LaterConvolution : public torch::autograd::Function<LaterConvolution> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& /*anchor*/,
                            const network::Conv2d& op, const LaterParametersPtr& parameters) {
    const Cast cast = cast_to(x.scalar_type(), *parameters);
    save(ctx, x, cast.weight, parameters);
    ctx->saved_data["stride"] = at::IntArrayRef(sides(op.stride));
    ctx->saved_data["padding"] = at::IntArrayRef(sides(op.padding));
    ctx->saved_data["groups"] = op.groups;
    return at::conv2d(x, cast.weight, cast.bias, sides(op.stride), sides(op.padding), 1, op.groups);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Saved saved(ctx);
    const auto gradients_of = [x = saved.x, weight = saved.weight, dy = grads[0],
                               stride = ctx->saved_data["stride"].toIntVector(),
                               padding = ctx->saved_data["padding"].toIntVector(),
                               groups = ctx->saved_data["groups"].toInt()](const std::array<bool, 3>& which) {
      return at::convolution_backward(dy, x, weight, at::IntArrayRef({weight.size(0)}), stride, padding, {1, 1},
                                      /*transposed=*/false, {0, 0}, groups, which);
    };
    const bool has_bias = saved.parameters->size() > 1;
    saved.parameters->leave([gradients_of, has_bias] {
      const auto [dx, dweight, dbias] = gradients_of({false, true, has_bias});
      return widened({dweight, dbias});
    });
    variable_list gradients(4);
    if (ctx->needs_input_grad(0)) gradients[0] = std::get<0>(gradients_of({true, false, false}));
    return gradients;
  }
};

class LaterLinear : public torch::autograd::Function<LaterLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& /*anchor*/,
                            const LaterParametersPtr& parameters) {
    const Cast cast = cast_to(x.scalar_type(), *parameters);
    save(ctx, x, cast.weight, parameters);
    return at::linear(x, cast.weight, cast.bias);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Saved saved(ctx);
    const at::Tensor& dy = grads[0];
    saved.parameters->leave([x = saved.x, dy, has_bias = saved.parameters->size() > 1] {
      return widened({dy.t().mm(x), has_bias ? dy.sum(0) : at::Tensor()});
    });
    variable_list gradients(3);
    if (ctx->needs_input_grad(0)) gradients[0] = dy.mm(saved.weight);
    return gradients;
  }
};

}  // namespace

void LaterGradients::leave(std::vector<at::Tensor> parameters, Work work) {
  left_.push_back({std::move(parameters), std::move(work)});
}

void LaterGradients::add_up() {
  for (const Left& left : std::exchange(left_, {})) {
    std::vector<at::Tensor> gradients;
    {
      const c10::NoGradGuard no_grad;
      gradients = left.work();
    }
    torch::autograd::backward(left.parameters, gradients);
  }
}

LaterParameters::LaterParameters(c10::intrusive_ptr<LaterGradients> later, std::vector<at::Tensor> parameters)
    : later_(std::move(later)), parameters_(std::move(parameters)) {}

LaterParametersPtr LaterParameters::of(LaterGradients* later, std::vector<at::Tensor> parameters) {
  const auto is_trained = [](const at::Tensor& parameter) { return parameter.requires_grad(); };
  if (later == nullptr || !std::ranges::all_of(parameters, is_trained)) return {};
  return c10::make_intrusive<LaterParameters>(c10::intrusive_ptr<LaterGradients>::reclaim_copy(later),
                                              std::move(parameters));
}

at::Tensor LaterParameters::anchor() {
  return at::zeros({}, at::kFloat).set_requires_grad(true);
}

at::Tensor convolution_later(const at::Tensor& x, const network::Conv2d& op, const LaterParametersPtr& parameters) {
  return LaterConvolution::apply(x, LaterParameters::anchor(), op, parameters);
}

at::Tensor linear_later(const at::Tensor& x, const LaterParametersPtr& parameters) {
  return LaterLinear::apply(x, LaterParameters::anchor(), parameters);
}

}  // namespace evener::engine::torch_engine
