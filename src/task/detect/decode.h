// From what a detector's network puts out to boxes on a photo, in float32 as torchvision's SSD computes it
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
  float confidence = 0.25F;               // what a box must be likelier than
  float iou = 0.55F;                      // boxes of one class that share more than this of their union are one
  std::size_t candidates = 300;           // of each class, that suppression looks at: the likeliest
  std::size_t most = 300;                 // on an image: the likeliest
  std::vector<std::int32_t> labels = {};  // the only ones that are looked for; empty = all
};

/// Where a photo lies on the network's image: a point x of the photo lies at x * scale_x + left.
struct PhotoPlace {
  float scale_x = 1, scale_y = 1, left = 0, top = 0;
};

/// The boxes of one image, the likeliest first; of equally likely ones the one of the lower class, then of the earlier
/// anchor. `offsets`: (anchors, 4), dx, dy, dw and dh times 10, 10, 5 and 5. `scores`: (anchors, classes + 1), logits;
/// column 0 is the background, column k + 1 the class k. `width`, `height`: of the network's image, to which boxes are
/// clipped; what has no area then is left out, as is what is no number. Throws Error where the sizes don't fit.
std::vector<Detection> decode(std::span<const float> offsets, std::span<const float> scores,
                              std::span<const network::Anchor> anchors, float width, float height,
                              const DecodeOptions& options);

/// Boxes on the network's image as boxes on the photo of that size, clipped to it; those without area there are left
/// out.
std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height);

}  // namespace evener::task
