// The losses that networks are trained and judged by, and what a batch came to: sums over its samples.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "engine/engine.h"

namespace evener::engine::torch_engine {

/// `logits` float32 (N, classes), `labels` int64 (N) -> float32 (). `smoothing` of labels is a means of training.
at::Tensor loss_sum(Loss loss, double smoothing, const at::Tensor& logits, const at::Tensor& labels);

/// The loss against both labels of mixed images: `first_part` (N) of the first, the rest of the second.
at::Tensor mixed_loss_sum(Loss loss, double smoothing, const at::Tensor& logits, const at::Tensor& labels,
                          const at::Tensor& second_labels, const at::Tensor& first_part);

/// Reads the results of a batch: waits for the device. `found`: the class of each sample.
BatchResult result_of(const at::Tensor& loss, const at::Tensor& found, const at::Tensor& labels);
/// The same of logits, with the classes appended to `predicted` unless that is null.
BatchResult append_found(const at::Tensor& logits, const at::Tensor& loss, const at::Tensor& labels,
                         std::vector<std::int32_t>* predicted);

}  // namespace evener::engine::torch_engine
