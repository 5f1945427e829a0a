// Networks that choose their boxes themselves, and list those that they found: no NMS is needed.
//
//   Rows of six: corners in pixels, score and class (Ultralytics' YOLOv10, YOLO26 and any export with nms=True).
//   Rows of seven: image, class, score and corners as shares (OpenVINO's DetectionOutput).
//   Lists of boxes, classes and scores, and perhaps their number: TensorFlow's detection API and TensorFlow Lite's
//     detection post-processing (top, left, bottom, right as shares), torchvision's detectors and RT-DETR (corners in
//     pixels).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "task/detect/decoders/detection.h"
#include "task/detect/decoders/detector_file.h"

namespace evener::task {

/// Where a list keeps its boxes.
struct ListLayout {
  /// The outputs; the same one for all where a row has everything. `count` may be "": rows without area are none.
  std::string boxes, scores, classes, count = {};
  std::size_t box_columns = 4, other_columns = 1;      // values of a row of boxes, and of scores and classes
  std::size_t first_box = 0, score = 0, class_at = 0;  // the columns
  bool y_first = false;                                // top, left, bottom, right
  bool shares = false;                                 // of the image's sides; false: pixels
  std::int64_t first_class = 0;                        // the number of the first class
  std::int64_t width = 0, height = 0;                  // of the network's image
};

class ListDecoder : public BoxDecoder {
 public:
  explicit ListDecoder(ListLayout layout);
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override;
  float usual_iou() const override { return 1; }

 private:
  const ListLayout layout_;
};

/// Absent where the outputs aren't such a list.
std::optional<RecognisedDetector> recognise_list(const DetectorFile& file);

}  // namespace evener::task
