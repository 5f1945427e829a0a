// The boxes of a detector as outputs of the Open Inference Protocol, by the names and shapes that Triton's servers of
// detectors have, whose networks end in TensorRT's EfficientNMS.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/preprocess.h"
#include "detect/detector.h"
#include "serve/protocol.h"

namespace evener::serving {

/// Names, types and shapes of one sample; -1 = as many as the request's image with the most boxes has.
std::vector<ServedOutput> box_outputs();

/// The values of box_outputs() for the images of a request.
struct ServedBoxes {
  TensorMap tensors;               // all but the names
  std::vector<std::string> names;  // of the classes, "" where an image has fewer boxes

  ToldOutput told(const WantedOutput& wanted) const;
};

/// Reads the boxes in `outputs` of images that had the sizes `photos` and were shown by `steps`: in pixels of those
/// images, the likeliest first. Throws as Detector::found() does.
ServedBoxes served_boxes(const detection::Detector& detector, const TensorMap& outputs,
                         const std::vector<detection::PhotoSize>& photos, const data::Preprocessing& steps);

}  // namespace evener::serving
