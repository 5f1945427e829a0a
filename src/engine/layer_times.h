// What each layer of a network took, as an engine computes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace evener::engine {

struct LayerTime {
  /// Names of the layers that are computed as one, in their order; of a network in a foreign file what stands there.
  /// Empty: work that belongs to none, such as normalising images.
  std::vector<std::string> layers;
  std::string what;  // "Conv2d", "normalise images, loss"
  double forward_s = 0;
  std::optional<double> backward_s = {};  // in training
};

}  // namespace evener::engine
