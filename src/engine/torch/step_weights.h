// Weights of convolutions in the order in which kernels read them, kept while a step computes several micro-batches
// with the same ones.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <utility>

namespace evener::engine::torch_engine {

/// For one thread. Kept weights are valid for one version of a parameter's values. LibTorch doesn't see what other
/// replicas change in shared memory: forget() has to be called before each step, too.
class StepWeights : public torch::CustomClassHolder {
 public:
  enum class Order : std::uint8_t { kForward, kBackward };

  /// The values of `weight` in an order, by `make` unless they were kept.
  template <class Make>
  at::Tensor get(const at::Tensor& weight, Order order, const Make& make) {
    Kept& kept = kept_[{weight.const_data_ptr(), order}];
    if (!kept.values.defined() || kept.version != weight._version()) kept = {make(), weight._version()};
    return kept.values;
  }
  void forget() { kept_.clear(); }

 private:
  struct Kept {
    at::Tensor values;
    std::int64_t version = 0;
  };
  std::map<std::pair<const void*, Order>, Kept> kept_;
};
using StepWeightsPtr = c10::intrusive_ptr<StepWeights>;

}  // namespace evener::engine::torch_engine
