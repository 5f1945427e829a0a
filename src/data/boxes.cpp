#include "data/boxes.h"

#include <algorithm>

namespace evener::data {

float box_area(const LabelledBox& box) {
  return std::max(0.0F, box.x2 - box.x1) * std::max(0.0F, box.y2 - box.y1);
}

float intersection_area(const LabelledBox& a, const LabelledBox& b) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return std::max(0.0F, width) * std::max(0.0F, height);
}

float intersection_over_union(const LabelledBox& a, const LabelledBox& b) {
  const float both = intersection_area(a, b);
  const float either = box_area(a) + box_area(b) - both;
  return either > 0 ? both / either : 0;
}

void clip_box(const ImageShape& shape, LabelledBox& box) {
  const auto width = static_cast<float>(shape.width), height = static_cast<float>(shape.height);
  box.x1 = std::clamp(box.x1, 0.0F, width), box.x2 = std::clamp(box.x2, 0.0F, width);
  box.y1 = std::clamp(box.y1, 0.0F, height), box.y2 = std::clamp(box.y2, 0.0F, height);
}

bool has_area(const LabelledBox& box) {
  return box.x1 < box.x2 && box.y1 < box.y2;
}

}  // namespace evener::data
