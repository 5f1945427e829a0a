#include "engine/torch/device_exchange.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/phase.h"

namespace evener::engine::torch_engine {
namespace {

std::vector<std::size_t> sizes_of(const std::vector<at::Tensor>& parameters) {
  std::vector<std::size_t> sizes;
  for (const at::Tensor& parameter : parameters) sizes.push_back(static_cast<std::size_t>(parameter.numel()));
  return sizes;
}

/// The gradient's memory as a vector. The order of values in it doesn't matter, since it is the same on every replica.
DeviceValues values_of(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.defined()) gradient = at::zeros_like(parameter.detach());
  if (!gradient.is_non_overlapping_and_dense()) gradient = gradient.contiguous();
  return {gradient.mutable_data_ptr(), gradient.numel(), DeviceValues::Type::kFloat32};
}

}  // namespace

DeviceExchange::DeviceExchange(const Streams& streams, DeviceSums& sums, const std::vector<at::Tensor>& parameters)
    : streams_(streams),
      sums_(sums),
      parameters_(parameters),
      progress_(sizes_of(parameters)),
      computed_(streams),
      summed_(streams) {
  const WorkingIn compute(streams.compute());  // makes the device the current one
  if (streams.asynchronous()) {
    stream_ = c10::impl::VirtualGuardImpl(streams.device().type()).getStreamFromGlobalPool(streams.device());
  }
  sums_.join();
}

void DeviceExchange::add_up_in_stream(const std::vector<DeviceValues>& values) {
  computed_.record(streams_.compute());
  computed_.hold_back(stream_);
  sums_.add_up(values, stream_ ? stream_->native_handle() : nullptr);
}

void DeviceExchange::add_up(const at::Tensor& values) {
  add_up_in_stream({{values.mutable_data_ptr(), values.numel(), DeviceValues::Type::kFloat64}});
  summed_.record(stream_);
  summed_.hold_back(streams_.compute());
}

void DeviceExchange::gradient_ready(std::size_t parameter) {
  progress_.ready(parameter);
  while (const Bucket* bucket = progress_.take_complete()) add_up_bucket(*bucket);
}

void DeviceExchange::add_up_bucket(const Bucket& bucket) {
  const c10::NoGradGuard no_grad;
  const WorkingIn compute(streams_.compute());
  std::vector<DeviceValues> values;
  for (std::size_t i = bucket.first; i <= bucket.last; ++i) values.push_back(values_of(parameters_[i]));
  add_up_in_stream(values);
}

void DeviceExchange::finish_gradients() {
  const PhaseMark mark(Phase::kExchange);
  while (const Bucket* bucket = progress_.take_next()) add_up_bucket(*bucket);
  summed_.record(stream_);
  summed_.hold_back(streams_.compute());
}

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
