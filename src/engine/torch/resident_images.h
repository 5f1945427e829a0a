// Keeps all images of a data set on a device, and makes batches of them there, with augmentation by random numbers that
// the host has drawn for each sample.
#pragma once

#include <ATen/ATen.h>

#include "data/dataset.h"
#include "engine/torch/batch_layout.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

class ResidentImages {
 public:
  /// Reads all images with `threads` threads. Throws OutOfMemory when they don't fit, naming the memory needed and
  /// free.
  ResidentImages(const Streams& streams, const data::Dataset& dataset, int threads);

  /// The images of a batch as uint8 (N, C, H, W), changed as data::augment_image and data::mix_images do it, by the
  /// same operations in float32. Reads no value on the host.
  at::Tensor of(const BatchTensors& batch) const;

 private:
  void upload(const Streams& streams, const data::Dataset& dataset, int threads);
  at::Tensor moved(const at::Tensor& samples, const at::Tensor& moves) const;

  at::Tensor images_;                     // uint8 (samples, C, H, W)
  at::Tensor channels_, rows_, columns_;  // int64: 0, 1, 2, ... along their axis of (1, C, H, W)
};

}  // namespace evener::engine::torch_engine
