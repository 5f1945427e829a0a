// The boxes in the outputs of a detector that is being trained.
#pragma once

#include <cstddef>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"
#include "task/detect/decode.h"

namespace evener::task {

class OutputBoxes {
 public:
  /// Throws Error where the network has no outputs "boxes" and "scores", which detectors have.
  OutputBoxes(const network::Network& network, DecodeOptions options);

  /// The boxes on image number `image` of the batch that gave `outputs`.
  std::vector<Detection> found(const std::vector<HostTensor>& outputs, std::size_t image) const;

 private:
  const std::vector<network::Anchor> anchors_;
  const std::size_t boxes_, scores_;  // indices of the outputs
  const float height_, width_;
  const DecodeOptions options_;
};

}  // namespace evener::task
