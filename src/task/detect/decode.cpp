#include "task/detect/decode.h"

namespace evener::task {

std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height) {
  for (Detection& box : detections) {
    box.x1 = (box.x1 - place.left) / place.scale_x, box.x2 = (box.x2 - place.left) / place.scale_x;
    box.y1 = (box.y1 - place.top) / place.scale_y, box.y2 = (box.y2 - place.top) / place.scale_y;
    clip(box, width, height);
  }
  std::erase_if(detections, [](const Detection& box) { return !has_area(box); });
  return detections;
}

}  // namespace evener::task
