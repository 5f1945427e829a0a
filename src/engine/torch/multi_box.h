// The loss of a detector on tensors (network::MultiBox).
#pragma once

#include <ATen/ATen.h>

#include "network/criterion.h"

namespace evener::engine::torch_engine {

/// The targets of the anchors of a batch's images (engine/box_matching.h).
struct AnchorTargets {
  at::Tensor classes;  // int64 (N, P), 0 = background, kIgnored
  at::Tensor offsets;  // float32 (N, P, 4)
};

/// Sums over each image, float32 (N); with gradients.
struct MultiBoxSums {
  at::Tensor boxes, classes;
};

/// `boxes` (N, P, 4) and `scores` (N, P, classes with the background), float32. Reads no value on the host.
MultiBoxSums multi_box_sums(const network::MultiBox& op, const at::Tensor& boxes, const at::Tensor& scores,
                            const AnchorTargets& targets);

}  // namespace evener::engine::torch_engine
