#include "task/detect/found_boxes.h"

namespace evener::task {

data::BoxedFile boxed_file(const FoundBoxes& found, float least) {
  data::BoxedFile file{found.file, found.size.width, found.size.height, 3, {}, {}};
  for (const Detection& box : found.boxes) {
    if (box.score < least) continue;
    file.boxes.push_back({box.x1, box.y1, box.x2, box.y2, box.label});
    file.scores.push_back(box.score);
  }
  return file;
}

}  // namespace evener::task
