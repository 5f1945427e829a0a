// From the outputs of a detector's network to boxes on a photo, in float32 as torchvision's SSD computes it
// (SSD.postprocess_detections, BoxCoder).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "network/anchors.h"

namespace evener::task {

/// An object that was found: corners in pixels, from the upper left corner of the image, which reaches to x = width.
struct Detection {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::int32_t label = 0;  // the class's index in the data; the background has none
  float score = 0;         // its probability

  bool operator==(const Detection&) const = default;
};

struct DecodeOptions {
  float confidence = 0.25F;               // boxes must have a higher score
  float iou = 0.55F;                      // NMS: of boxes of one class with a larger intersection over union only the
                                          // likeliest stays
  std::size_t candidates = 300;           // the likeliest boxes of each class, which NMS looks at
  std::size_t most = 300;                 // the likeliest boxes of an image, which are returned
  std::vector<std::int32_t> labels = {};  // the only classes that are looked for; empty = all
};

/// Where a photo lies on the network's image: the point (x, y) of the photo at (x * scale_x + left, y * scale_y + top).
struct PhotoPlace {
  float scale_x = 1, scale_y = 1, left = 0, top = 0;
};

/// The boxes of one image, the likeliest first; equally likely ones by class, then by anchor. `offsets`: (anchors, 4),
/// dx, dy, dw and dh times 10, 10, 5 and 5. `scores`: (anchors, classes + 1), logits; column 0 is the background,
/// column k + 1 the class k. `width`, `height`: of the network's image, to which boxes are clipped; boxes without area
/// then, and those that are not numbers, are left out. Throws Error where the sizes don't fit.
std::vector<Detection> decode(std::span<const float> offsets, std::span<const float> scores,
                              std::span<const network::Anchor> anchors, float width, float height,
                              const DecodeOptions& options);

/// Converts boxes on the network's image to boxes on the photo of width x height pixels, clipped to it; boxes without
/// area there are left out.
std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height);

}  // namespace evener::task
