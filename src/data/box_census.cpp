#include "data/box_census.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/boxes.h"

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
