// What passes keep for later: weights in the order in which kernels read them, and gradients of weights that a backward
// pass leaves undone.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

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

/// at::conv2d of `x` with the layer's weight, and bias if it has one, in the type of `x`; leaves their gradients for
/// later.
at::Tensor convolution_later(const at::Tensor& x, const network::Conv2d& op, const LaterParametersPtr& parameters);
/// at::linear of `x` (N, values), likewise.
at::Tensor linear_later(const at::Tensor& x, const LaterParametersPtr& parameters);

}  // namespace evener::engine::torch_engine
