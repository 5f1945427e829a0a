// What passes keep for later: weights in the order in which kernels read them, and gradients of weights that a backward
// pass leaves undone.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/torch/rows.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// Weights of convolutions in the order in which kernels read them, kept while a step computes several micro-batches
/// with the same ones. For one thread. forget() has to be called whenever the parameters' values may have changed, by
/// this trainer or by other replicas in shared memory, which LibTorch doesn't see.
class StepWeights : public torch::CustomClassHolder {
 public:
  /// Of a pass forward or backward; one layer may take either kind of convolution in calls of different sizes.
  enum class Order : std::uint8_t { kForward, kBackward, kWinogradForward, kWinogradBackward };

  /// The values of `weight` in an order, by `make` unless they were kept.
  template <class Make>
  at::Tensor get(const at::Tensor& weight, Order order, const Make& make) {
    at::Tensor& values = kept_[{weight.const_data_ptr(), order}];
    if (!values.defined()) values = make();
    return values;
  }
  void forget() { kept_.clear(); }

 private:
  std::map<std::pair<const void*, Order>, at::Tensor> kept_;
};
using StepWeightsPtr = c10::intrusive_ptr<StepWeights>;

/// The gradients of weights that a backward pass leaves for later, so that the gradients of its inputs, which another
/// stage waits for, are ready sooner.
class LaterGradients : public torch::CustomClassHolder {
 public:
  /// Computes the gradients, in the order of the parameters.
  using Work = std::function<std::vector<at::Tensor>()>;

  void leave(std::vector<at::Tensor> parameters, Work work);
  /// Computes the postponed gradients, in the order in which they were left, and accumulates them as a backward pass
  /// does.
  void add_up();

 private:
  struct Left {
    std::vector<at::Tensor> parameters;
    Work work;
  };
  std::vector<Left> left_;
};

/// The parameters of a layer whose gradients are left for later; autograd functions save it for their backward pass.
class LaterParameters : public torch::CustomClassHolder {
 public:
  /// Null where the backward pass computes the gradients itself: if `later` is null, or not all of the parameters are
  /// trained.
  static c10::intrusive_ptr<LaterParameters> of(LaterGradients* later, std::vector<at::Tensor> parameters);
  LaterParameters(c10::intrusive_ptr<LaterGradients> later, std::vector<at::Tensor> parameters);

  void leave(LaterGradients::Work work) const { later_->leave(parameters_, std::move(work)); }
  const at::Tensor& parameter(std::size_t index) const { return parameters_[index]; }
  std::size_t size() const { return parameters_.size(); }
  /// A tensor that needs a gradient, to be passed as an input to autograd functions: if none of their inputs needed
  /// one, autograd would skip their backward pass.
  static at::Tensor anchor();

 private:
  const c10::intrusive_ptr<LaterGradients> later_;
  const std::vector<at::Tensor> parameters_;
};
using LaterParametersPtr = c10::intrusive_ptr<LaterParameters>;

/// One convolution's call; what autograd needs for its backward pass.
struct ConvolutionCall : torch::CustomClassHolder {
  ConvolutionCall(const network::Conv2d& conv, StepWeightsPtr weights, LaterParametersPtr parameters)
      : op(conv), kept(std::move(weights)), later(std::move(parameters)) {}
  const network::Conv2d op;
  const StepWeightsPtr kept;       // null: no weights are kept
  const LaterParametersPtr later;  // null: the backward pass computes the gradient of the weight
};

/// A convolution of our own without a bias. `Method` has the functions convolved(call, x, weight), input_gradient(call,
/// x, dy, weight), where images have the type of `x`, and weight_gradient(op, x, dy, weight).
template <class Method>
class OwnConvolution : public torch::autograd::Function<OwnConvolution<Method>> {
 public:
  static at::Tensor of(const at::Tensor& x, const at::Tensor& weight, c10::intrusive_ptr<ConvolutionCall> call) {
    const at::Tensor values = weight.detach();
    const bool later = call->later.defined();
    return OwnConvolution::apply(x, later ? values : weight, later ? LaterParameters::anchor() : values, call);
  }

  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& /*anchor*/, const c10::intrusive_ptr<ConvolutionCall>& call) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["call"] = at::IValue::make_capsule(call);
    return Method::convolved(*call, x, weight);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const auto call = c10::static_intrusive_pointer_cast<ConvolutionCall>(ctx->saved_data["call"].toCapsule());
    const at::Tensor dy = as_rows(grads[0], x);
    if (call->later) {
      call->later->leave([op = call->op, x = x.detach(), dy, weight] {
        return std::vector<at::Tensor>{Method::weight_gradient(op, x, dy, weight)};
      });
    }
    torch::autograd::variable_list gradients(4);
    if (ctx->needs_input_grad(0)) gradients[0] = Method::input_gradient(*call, x, dy, weight);
    if (ctx->needs_input_grad(1)) gradients[1] = Method::weight_gradient(call->op, x, dy, weight);
    return gradients;
  }
};

/// at::conv2d of `x` with the layer's weight, and bias if it has one, in the type of `x`; leaves their gradients for
/// later.
at::Tensor convolution_later(const at::Tensor& x, const network::Conv2d& op, const LaterParametersPtr& parameters);
/// at::linear of `x` (N, values), likewise.
at::Tensor linear_later(const at::Tensor& x, const LaterParametersPtr& parameters);

}  // namespace evener::engine::torch_engine
