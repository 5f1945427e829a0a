// Boxes that a network found: read from the outputs of a detector that is being trained, brought from the network's
// image to the photo that it shows, and written to label files, which people correct by hand or train on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/write_folder.h"
#include "detect/decoders/detection.h"
#include "network/network.h"

namespace evener::detection {

/// Where a photo lies on the network's image: the point (x, y) of the photo at (x * scale_x + left, y * scale_y + top).
struct PhotoPlace {
  float scale_x = 1, scale_y = 1, left = 0, top = 0;
};

/// Converts boxes on the network's image to boxes on the photo of width x height pixels, clipped to it; boxes without
/// area there are left out.
std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height);

/// Pixels of a photo at its own size.
struct PhotoSize {
  std::int64_t width = 0, height = 0;
};

/// The boxes found on a photo.
struct FoundBoxes {
  std::string file;
  PhotoSize size;
  std::vector<Detection> boxes;
};

/// The content of a label file: the boxes with a score of at least `least`.
data::BoxedFile boxed_file(const FoundBoxes& found, float least = 0);

/// The boxes in the outputs of a detector that is being trained.
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

}  // namespace evener::detection
