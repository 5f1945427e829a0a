#include "detect/decoders/detection.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace evener::detection {

void clip(Detection& box, float width, float height) {
  box.x1 = std::clamp(box.x1, 0.0F, width), box.x2 = std::clamp(box.x2, 0.0F, width);
  box.y1 = std::clamp(box.y1, 0.0F, height), box.y2 = std::clamp(box.y2, 0.0F, height);
}

bool has_area(const Detection& box) {
  return box.x1 < box.x2 && box.y1 < box.y2;
}

bool is_wanted(std::int32_t label, const DecodeOptions& options) {
  return options.labels.empty() || std::ranges::find(options.labels, label) != options.labels.end();
}

std::vector<Detection> suppressed(std::vector<Detection> boxes, const DecodeOptions& options) {
  std::ranges::stable_sort(boxes, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::map<std::int32_t, std::vector<Detection>> kept;  // by class
  std::map<std::int32_t, std::size_t> looked_at;
  std::vector<Detection> found;
  for (const Detection& box : boxes) {
    if (found.size() == options.most) break;
    if (looked_at[box.label]++ >= options.candidates) continue;
    std::vector<Detection>& of_class = kept[box.label];
    const bool is_hidden = std::ranges::any_of(
        of_class, [&](const Detection& other) { return intersection_over_union(other, box) > options.iou; });
    if (is_hidden) continue;
    of_class.push_back(box);
    found.push_back(box);
  }
  return found;
}

std::vector<Detection> likeliest(std::vector<Detection> boxes, const DecodeOptions& options) {
  std::ranges::stable_sort(boxes, [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (boxes.size() > options.most) boxes.resize(options.most);
  return boxes;
}

float probability_of(float logit) {
  return 1 / (1 + std::exp(-logit));
}

float logit_of(float probability) {
  return std::log(probability / (1 - probability));
}

std::span<const float> output_of(const ImageOutputs& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) throw Error("the network gave no output '" + name + "'");
  return found->second;
}

}  // namespace evener::detection
