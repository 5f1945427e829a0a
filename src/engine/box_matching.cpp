#include "engine/box_matching.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace evener::engine {

BoxMatcher::BoxMatcher(const std::vector<network::Anchor>& anchors, std::int64_t width, std::int64_t height,
                       std::int64_t classes, double least_overlap)
    : classes_(classes), least_overlap_(static_cast<float>(least_overlap)) {
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  for (const network::Anchor& anchor : anchors) {
    x1_.push_back((anchor.cx - 0.5F * anchor.w) * w);
    y1_.push_back((anchor.cy - 0.5F * anchor.h) * h);
    x2_.push_back((anchor.cx + 0.5F * anchor.w) * w);
    y2_.push_back((anchor.cy + 0.5F * anchor.h) * h);
    area_.push_back((x2_.back() - x1_.back()) * (y2_.back() - y1_.back()));
  }
}

std::vector<std::int32_t> BoxMatcher::owners(std::span<const data::LabelledBox> objects) const {
  const std::size_t count = anchors();
  std::vector<std::int32_t> owner(count, -1);
  std::vector<float> best(count, 0), overlap(count);
  std::vector<std::size_t> favourite;  // anchor of each object
  for (std::size_t k = 0; k < objects.size(); ++k) {
    const data::LabelledBox& object = objects[k];
    favourite.push_back(count);
    if (object.is_crowd) continue;
    const float area = (object.x2 - object.x1) * (object.y2 - object.y1);
    for (std::size_t i = 0; i < count; ++i) {
      const float shared = shared_area(object, i);
      overlap[i] = shared / (area + area_[i] - shared);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!(overlap[i] > best[i])) continue;
      best[i] = overlap[i];
      owner[i] = static_cast<std::int32_t>(k);
    }
    favourite.back() = static_cast<std::size_t>(std::ranges::max_element(overlap) - overlap.begin());
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (best[i] < least_overlap_) owner[i] = -1;
  }
  for (std::size_t k = 0; k < favourite.size(); ++k) {
    if (favourite[k] < count) owner[favourite[k]] = static_cast<std::int32_t>(k);
  }
  return owner;
}

float BoxMatcher::shared_area(const data::LabelledBox& object, std::size_t anchor) const {
  const float width = std::max(0.0F, std::min(object.x2, x2_[anchor]) - std::max(object.x1, x1_[anchor]));
  const float height = std::max(0.0F, std::min(object.y2, y2_[anchor]) - std::max(object.y1, y1_[anchor]));
  return width * height;
}

bool BoxMatcher::lies_in_crowd(std::span<const data::LabelledBox> objects, std::size_t anchor) const {
  return std::ranges::any_of(objects, [&](const data::LabelledBox& object) {
    return object.is_crowd && 2 * shared_area(object, anchor) >= area_[anchor];
  });
}

std::int64_t BoxMatcher::count(std::span<const data::LabelledBox> objects) const {
  if (objects.empty()) return 0;
  return std::ranges::count_if(owners(objects), [](std::int32_t owner) { return owner >= 0; });
}

std::int64_t BoxMatcher::match(std::span<const data::LabelledBox> objects, std::span<std::int64_t> classes,
                               std::span<float> offsets) const {
  std::ranges::fill(classes, 0);
  std::ranges::fill(offsets, 0.0F);
  if (objects.empty()) return 0;
  for (const data::LabelledBox& object : objects) {
    if (object.label >= 0 && object.label < classes_) continue;
    throw Error("an object of class " + std::to_string(object.label) + ", but the detector knows classes 0 to " +
                std::to_string(classes_ - 1));
  }
  std::int64_t matched = 0;
  const std::vector<std::int32_t> owner = owners(objects);
  for (std::size_t i = 0; i < owner.size(); ++i) {
    if (owner[i] < 0) {
      if (lies_in_crowd(objects, i)) classes[i] = kIgnored;
      continue;
    }
    ++matched;
    const data::LabelledBox& object = objects[static_cast<std::size_t>(owner[i])];
    classes[i] = object.label + 1;
    const float width = x2_[i] - x1_[i], height = y2_[i] - y1_[i];
    const float object_width = object.x2 - object.x1, object_height = object.y2 - object.y1;
    float* const offset = offsets.data() + 4 * i;
    offset[0] = kCentreFactor * (object.x1 + 0.5F * object_width - (x1_[i] + 0.5F * width)) / width;
    offset[1] = kCentreFactor * (object.y1 + 0.5F * object_height - (y1_[i] + 0.5F * height)) / height;
    offset[2] = kExtentFactor * std::log(object_width / width);
    offset[3] = kExtentFactor * std::log(object_height / height);
  }
  return matched;
}

}  // namespace evener::engine
