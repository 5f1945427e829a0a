// Boxes from anchors, as our own SSD detectors have them, in float32 as torchvision's SSD computes it
// (SSD.postprocess_detections, BoxCoder).
#pragma once

#include <span>
#include <vector>

#include "detect/decoders/detection.h"
#include "network/anchors.h"
#include "network/network.h"

namespace evener::detection {

/// The boxes of one image, the likeliest first; equally likely ones by class, then by anchor. `offsets`: (anchors, 4),
/// dx, dy, dw and dh times 10, 10, 5 and 5. `scores`: (anchors, classes + 1), logits; column 0 is the background,
/// column k + 1 the class k. `width`, `height`: of the network's image, to which boxes are clipped; boxes without area
/// then, and those that are not numbers, are left out. Throws Error where the sizes don't fit.
std::vector<Detection> decode(std::span<const float> offsets, std::span<const float> scores,
                              std::span<const network::Anchor> anchors, float width, float height,
                              const DecodeOptions& options);

/// Reads the outputs "boxes" and "scores" of a network of ours, with anchors, for images.
BoxDecoder anchor_decoder(const network::Network& network);

}  // namespace evener::detection
