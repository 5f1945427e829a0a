// Gradients of weights that a backward pass leaves for later, so that the gradients of its inputs, which another stage
// waits for, are ready sooner.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <vector>

#include "network/network.h"

namespace evener::engine::torch_engine {

/// The postponed gradients of one backward pass.
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

/// at::conv2d of `x` with the layer's weight, and bias if it has one, in the type of `x`; leaves their gradients for
/// later.
at::Tensor convolution_later(const at::Tensor& x, const network::Conv2d& op, const LaterParametersPtr& parameters);
/// at::linear of `x` (N, values), likewise.
at::Tensor linear_later(const at::Tensor& x, const LaterParametersPtr& parameters);

}  // namespace evener::engine::torch_engine
