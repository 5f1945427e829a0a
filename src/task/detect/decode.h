// From boxes on a network's image to boxes on the photo that it shows.
#pragma once

#include <vector>

#include "task/detect/decoders/detection.h"

namespace evener::task {

/// Where a photo lies on the network's image: the point (x, y) of the photo at (x * scale_x + left, y * scale_y + top).
struct PhotoPlace {
  float scale_x = 1, scale_y = 1, left = 0, top = 0;
};

/// Converts boxes on the network's image to boxes on the photo of width x height pixels, clipped to it; boxes without
/// area there are left out.
std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height);

}  // namespace evener::task
