// Copies of a device's gradients in host memory, where replicas exchange them.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <span>
#include <vector>

#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

class HostGradients {
 public:
  /// `format`: the memory format of the gradients of CPU replicas, which the copies must have too, since an exchange
  /// adds up memory value by value.
  HostGradients(const Streams& streams, const std::vector<at::Tensor>& parameters, at::MemoryFormat format);

  /// Starts copying a gradient whose work has been enqueued on the compute stream.
  void fetch(std::size_t index, const at::Tensor& gradient);
  /// Waits until the copy has arrived, and returns it.
  std::span<float> wait(std::size_t index);
  /// Copies the values in host memory, which an exchange may have replaced, back into `gradient`, on the compute
  /// stream.
  void give_back(std::size_t index, at::Tensor& gradient);
  const at::Tensor& tensor(std::size_t index) const { return tensors_[index]; }

 private:
  const Streams& streams_;
  std::vector<at::Tensor> tensors_;  // pinned; made when first needed
  std::vector<std::vector<std::int64_t>> shapes_;
  at::MemoryFormat format_;
  std::vector<Moment> computed_, landed_;
};

}  // namespace evener::engine::torch_engine
