// Weights of convolutions in the order in which kernels read them, kept while a step computes several micro-batches
// with the same ones.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <utility>

namespace evener::engine::torch_engine {

/// For one thread. forget() has to be called whenever the parameters' values may have changed, by this trainer or by
/// other replicas in shared memory, which LibTorch doesn't see.
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

}  // namespace evener::engine::torch_engine
