#include "engine/torch/host_gradients.h"

#include "base/phase.h"

namespace evener::engine::torch_engine {

HostGradients::HostGradients(const Streams& streams, const std::vector<at::Tensor>& parameters, at::MemoryFormat format)
    : streams_(streams), tensors_(parameters.size()), format_(format) {
  for (const auto& parameter : parameters) {
    shapes_.push_back(parameter.sizes().vec());
    computed_.emplace_back(streams);
    landed_.emplace_back(streams);
  }
}

void HostGradients::fetch(std::size_t index, const at::Tensor& gradient) {
  at::Tensor& host = tensors_.at(index);
  const at::MemoryFormat format = gradient.dim() == 4 ? format_ : at::MemoryFormat::Contiguous;
  if (!host.defined()) {
    host =
        at::empty(shapes_[index],
                  at::TensorOptions().dtype(at::kFloat).pinned_memory(streams_.asynchronous()).memory_format(format));
  }
  const at::Tensor ordered = gradient.contiguous(format);
  computed_[index].record(streams_.compute());
  computed_[index].hold_back(streams_.copy());
  const WorkingIn copying(streams_.copy());
  host.copy_(ordered, /*non_blocking=*/true);
  if (streams_.asynchronous()) ordered.record_stream(*streams_.copy());  // keeps its memory until the copy has ended
  landed_[index].record(streams_.copy());
}

std::span<float> HostGradients::wait(std::size_t index) {
  const PhaseMark mark(Phase::kD2H);
  landed_.at(index).wait();
  at::Tensor& host = tensors_[index];
  return {host.mutable_data_ptr<float>(), static_cast<std::size_t>(host.numel())};
}

void HostGradients::give_back(std::size_t index, at::Tensor& gradient) {
  // The copy over the bus keeps the host's order; the device reorders it.
  gradient.copy_(tensors_.at(index).to(gradient.device(), /*non_blocking=*/true));
}

}  // namespace evener::engine::torch_engine
