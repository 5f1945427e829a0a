// Sums gradients and other values over the devices of all replicas, without their hosts (TrainerOptions::device_sums).
// Gradients are summed while the backward pass goes on, other values in the order of the compute stream.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "engine/device_sums.h"
#include "engine/gradient_buckets.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

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

}  // namespace evener::engine::torch_engine
