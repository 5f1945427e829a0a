// The times of a network's layers, as an engine computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace evener::engine {

struct LayerTime {
  /// Names of the layers that are computed as one, in their order; for a network in a foreign file, the names used
  /// there. Empty: work that belongs to no layer, such as normalising images.
  std::vector<std::string> layers;
  std::string what;  // "Conv2d", "normalise images, loss"
  double forward_s = 0;
  std::optional<double> backward_s = {};  // in training
};

}  // namespace evener::engine
