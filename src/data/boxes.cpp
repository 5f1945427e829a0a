#include "data/boxes.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace evener::data {

namespace {

/// The middle one, the lower of two; 0 of none.
float median_of(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

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

BoxCensus count_boxes(const Dataset& dataset) {
  if (dataset.target_kind() != TargetKind::kBoxes) throw Error("the data has classes, not boxes");
  constexpr float kSmall = 32 * 32, kMedium = 96 * 96;
  BoxCensus census;
  census.classes.resize(dataset.classes().size());
  std::vector<std::vector<float>> widths(census.classes.size()), heights(census.classes.size());
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const auto boxes = std::get<std::vector<LabelledBox>>(dataset.targets(i));
    std::set<std::size_t> present;
    for (const LabelledBox& box : boxes) {
      const auto label = static_cast<std::size_t>(box.label);
      present.insert(label);
      ++census.classes.at(label).boxes;
      widths[label].push_back(box.x2 - box.x1);
      heights[label].push_back(box.y2 - box.y1);
      census.difficult += box.is_difficult;
      census.truncated += box.is_truncated;
      census.crowds += box.is_crowd;
      const float area = box_area(box);
      ++(area < kSmall ? census.small : area < kMedium ? census.medium : census.large);
    }
    for (const std::size_t label : present) ++census.classes[label].images;
    census.boxes += boxes.size();
    census.images_without += boxes.empty();
    census.most_on_an_image = std::max(census.most_on_an_image, boxes.size());
  }
  for (std::size_t c = 0; c < census.classes.size(); ++c) {
    census.classes[c].median_width = median_of(widths[c]);
    census.classes[c].median_height = median_of(heights[c]);
  }
  return census;
}

}  // namespace evener::data
