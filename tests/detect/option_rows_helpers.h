// Which boxes are told of a detector, as JSON.
#pragma once

#include "app/option_rows_helpers.h"
#include "detect/detect.h"

namespace evener::test {

/// How boxes are told of a detector of three classes.
inline nlohmann::json boxes_json(const detection::DetectBoxesFlags& flags) {
  const detection::DecodeOptions boxes = flags.options(false, {"cat", "dog", "cow"}, {});
  return {{"confidence", boxes.confidence}, {"iou", boxes.iou}, {"most", boxes.most}, {"labels", boxes.labels}};
}

}  // namespace evener::test
