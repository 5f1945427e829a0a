// What reads boxes from the outputs of a detector's network. There is one for each family of networks.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "task/detect/decoders/detection.h"

namespace evener::task {

/// What the outputs hold of one image, by their names (Prediction::outputs).
using ImageOutputs = std::map<std::string, std::span<const float>>;

class BoxDecoder {
 public:
  virtual ~BoxDecoder() = default;

  /// The boxes of one image, the likeliest first, in pixels of the network's image, beyond which they may reach.
  /// `pixel`: the side of a pixel of the photo there. Thread-safe. Throws Error where the outputs have other sizes than
  /// the decoder was made for.
  virtual std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options,
                                       float pixel) const = 0;

  /// NMS as the family does it: its limit, and the likeliest boxes of each class that it looks at.
  virtual float usual_iou() const = 0;
  virtual std::size_t usual_candidates() const { return 30000; }
};

/// The values of an output. Throws Error where the network gave none of that name.
std::span<const float> output_of(const ImageOutputs& outputs, const std::string& name);

}  // namespace evener::task
