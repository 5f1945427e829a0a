// What a device computed and its replicas share, added up over their devices without their hosts
// (TrainerOptions::device_sums): gradients while the backward pass goes on, everything else in the order of the work.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "engine/device_sums.h"
#include "engine/gradient_buckets.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// All of it is work of one stream beside the one that computes, so that every replica's comes in the same order.
class DeviceExchange {
 public:
  /// Joins the group of `sums`, which outlives this, as the streams do. `parameters`: those that are trained.
  DeviceExchange(const Streams& streams, DeviceSums& sums, const std::vector<at::Tensor>& parameters);

  /// Puts the sums over all replicas in place of `values` (contiguous, float64), before whatever the compute stream is
  /// given from now on.
  void add_up(const at::Tensor& values);

  /// Before a backward pass.
  void begin_gradients() { progress_.begin(); }
  /// The compute stream was given the work for this parameter's gradient, which is final.
  void gradient_ready(std::size_t parameter);
  /// After the backward pass: what the compute stream is given from now on finds the sums in place of the gradients.
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
