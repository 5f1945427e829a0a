// Gradients of a device in host memory, where replicas exchange them.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <span>
#include <vector>

#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

class HostGradients {
 public:
  /// Of `parameters`, in the memory format that CPU replicas have theirs in: an exchange adds value by value.
  HostGradients(const Streams& streams, const std::vector<at::Tensor>& parameters, at::MemoryFormat format);

  /// Starts the copy of a gradient that the compute stream has been given the work for.
  void fetch(std::size_t index, const at::Tensor& gradient);
  /// Waits until the copy has landed.
  std::span<float> wait(std::size_t index);
  /// The values here, which may have been replaced, back into `gradient`; in the compute stream.
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
