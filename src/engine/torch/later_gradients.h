// Gradients of weights that a backward pass leaves for later, so that those of what it was given are there sooner.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <vector>

#include "network/network.h"

namespace evener::engine::torch_engine {

/// Those of one backward pass.
class LaterGradients : public torch::CustomClassHolder {
 public:
  /// What computes them, in the order of the parameters.
  using Work = std::function<std::vector<at::Tensor>()>;

  void leave(std::vector<at::Tensor> parameters, Work work);
  /// Computes what was left, in its order, and adds it to the parameters' gradients as a backward pass does.
  void add_up();

 private:
  struct Left {
    std::vector<at::Tensor> parameters;
    Work work;
  };
  std::vector<Left> left_;
};

/// A layer's parameters, whose gradients are left for later: what an autograd function keeps for its backward pass.
class LaterParameters : public torch::CustomClassHolder {
 public:
  /// Null where the backward pass computes them itself: without `later`, and where not all of them are trained.
  static c10::intrusive_ptr<LaterParameters> of(LaterGradients* later, std::vector<at::Tensor> parameters);
  LaterParameters(c10::intrusive_ptr<LaterGradients> later, std::vector<at::Tensor> parameters);

  void leave(LaterGradients::Work work) const { later_->leave(parameters_, std::move(work)); }
  const at::Tensor& parameter(std::size_t index) const { return parameters_[index]; }
  std::size_t size() const { return parameters_.size(); }
  /// An input for autograd functions whose other inputs may all need no gradient, so that it calls them backward.
  static at::Tensor anchor();

 private:
  const c10::intrusive_ptr<LaterGradients> later_;
  const std::vector<at::Tensor> parameters_;
};
using LaterParametersPtr = c10::intrusive_ptr<LaterParameters>;

/// at::conv2d of `x` with the layer's weight, and bias if it has one, in the type of `x`.
at::Tensor convolution_later(const at::Tensor& x, const network::Conv2d& op, const LaterParametersPtr& parameters);
/// at::linear, likewise; `x` (N, values).
at::Tensor linear_later(const at::Tensor& x, const LaterParametersPtr& parameters);

}  // namespace evener::engine::torch_engine
