// YOLO networks, which give a box and scores for each place of a grid: a table of a row for each place, or, transposed,
// a column.
//
//   YOLOv5, YOLOv7: boxes in pixels (middle and extents), an objectness by which the scores of classes are multiplied;
//     three anchors at each place.
//   YOLOv8, YOLO11, YOLO12: the same without objectness and anchors, transposed.
//   YOLOv6: as YOLOv5 with one box at each place, and an objectness that is always 1.
//   YOLOX (Ge et al. 2021): the same with a real objectness; boxes as offsets from the place, and logarithms of
//   extents,
//     in strides, unless the file decodes them itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/detect/decoders/detection.h"
#include "task/detect/decoders/detector_file.h"

namespace evener::task {

/// What the four values of a box are.
enum class YoloBoxes : std::uint8_t {
  kPixels,   // middle and extents, in pixels of the network's image
  kShares,   // the same as shares of the image's sides
  kStrides,  // offset of the middle from the place, and logarithms of the extents, in strides
};

struct YoloLayout {
  std::string output;
  std::int64_t places = 0, classes = 0;
  bool transposed = false;  // values of a place are a column
  bool has_objectness = false;
  bool logits = false;  // scores are no probabilities yet
  YoloBoxes boxes = YoloBoxes::kPixels;
  std::int64_t width = 0, height = 0;  // of the network's image
  float iou = 0.45F;
};

class YoloDecoder : public BoxDecoder {
 public:
  explicit YoloDecoder(YoloLayout layout);

  /// The likeliest class of each place counts, as these families' own programs have it.
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override;
  float usual_iou() const override { return layout_.iou; }

 private:
  struct Place {
    float x = 0, y = 0, stride = 1;
  };

  void find_in_rows(std::span<const float> values, const DecodeOptions& options, std::vector<Detection>& found) const;
  void find_in_columns(std::span<const float> values, const DecodeOptions& options,
                       std::vector<Detection>& found) const;
  /// Adds the box of a place, whose four values are `step` apart.
  void add(std::size_t place, const float* values, std::size_t step, std::size_t label, float score,
           const DecodeOptions& options, std::vector<Detection>& found) const;

  const YoloLayout layout_;
  std::vector<Place> places_;  // with kStrides
};

/// The number of places of the strides 8, 16 and 32, or up to 64, on an image; 0 where the image's sides are no
/// multiples of the largest.
std::int64_t grid_places(std::int64_t width, std::int64_t height, std::int64_t largest_stride);

/// Absent where the outputs aren't those of a YOLO network.
std::optional<RecognisedDetector> recognise_yolo(const DetectorFile& file);

}  // namespace evener::task
