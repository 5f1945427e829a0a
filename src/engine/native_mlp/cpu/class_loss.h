// The criteria that this engine's kernels compute: one term on a perceptron's output.
#pragma once

#include <string>

#include "network/criterion.h"

namespace evener::engine::native_mlp {

/// A loss as the kernels take it.
struct ClassLoss {
  bool squared = false;  // the mean squared error; otherwise cross-entropy
  float smoothing = 0;   // of the targets in training, for cross-entropy alone
};

/// Why the kernels can't compute the criterion on the network's output; "" if they can.
std::string why_no_class_loss(const network::Criterion& criterion, const network::Network& network);

/// The loss of a criterion for which why_no_class_loss() is empty.
ClassLoss class_loss_of(const network::Criterion& criterion);

}  // namespace evener::engine::native_mlp
