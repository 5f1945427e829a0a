// Exchanges a device's gradients with other replicas: by the devices alone, or through copies in host memory.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/gradient_exchange.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// Sums gradients and other values over the devices of all replicas, without their hosts (TrainerOptions::device_sums).
/// Gradients are summed while the backward pass goes on, other values in the order of the compute stream.
/// All sums are work of one stream beside the compute stream, so that they come in the same order on every replica.
class DeviceExchange {
 public:
  /// Joins the group of `sums`, which outlives this, as the streams do. `parameters`: those that are trained.
  DeviceExchange(const Streams& streams, DeviceSums& sums, const std::vector<at::Tensor>& parameters);

  /// Replaces `values` (contiguous, float64) by their sums over all replicas; work enqueued on the compute stream
  /// afterwards sees the sums.
  void add_up(const at::Tensor& values);

  /// To be called before a backward pass.
  void begin_gradients() { progress_.begin(); }
  /// To be called when the work for this parameter's final gradient has been enqueued on the compute stream.
  void gradient_ready(std::size_t parameter);
  /// To be called after the backward pass: work enqueued on the compute stream afterwards sees the summed gradients.
  void finish_gradients();

 private:
  void add_up_bucket(const Bucket& bucket);
  void add_up_in_stream(const std::vector<DeviceValues>& values);

  const Streams& streams_;
  DeviceSums& sums_;
  const std::vector<at::Tensor>& parameters_;
  BucketProgress progress_;
  std::optional<c10::Stream> stream_;
  Moment computed_, summed_;
};

/// Copies of a device's gradients in host memory, where replicas exchange them.
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
