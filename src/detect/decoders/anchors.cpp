#include "detect/decoders/anchors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "detect/decoders/detection.h"

namespace evener::detection {
namespace {

constexpr float kCentreWeight = 10, kExtentWeight = 5;

/// The factor by which an extent may grow: 1000 / 16.
const float kMostGrowth = std::log(1000.0F / 16);

Detection box_at(const network::Anchor& anchor, const float* offsets, float width, float height) {
  const float w = anchor.w * width, h = anchor.h * height;
  const float cx = offsets[0] / kCentreWeight * w + anchor.cx * width;
  const float cy = offsets[1] / kCentreWeight * h + anchor.cy * height;
  const float half_w = 0.5F * std::exp(std::min(offsets[2] / kExtentWeight, kMostGrowth)) * w;
  const float half_h = 0.5F * std::exp(std::min(offsets[3] / kExtentWeight, kMostGrowth)) * h;
  Detection box{.x1 = cx - half_w, .y1 = cy - half_h, .x2 = cx + half_w, .y2 = cy + half_h};
  clip(box, width, height);
  return box;
}

/// Probabilities of all classes at all anchors, with the columns of the logits.
std::vector<float> softmax(std::span<const float> logits, std::size_t columns) {
  std::vector<float> shares(logits.begin(), logits.end());
  for (auto row = shares.begin(); row != shares.end(); row += static_cast<std::ptrdiff_t>(columns)) {
    const auto end = row + static_cast<std::ptrdiff_t>(columns);
    const float greatest = *std::max_element(row, end);
    float sum = 0;
    for (auto value = row; value != end; ++value) sum += * value = std::exp(*value - greatest);
    for (auto value = row; value != end; ++value) *value /= sum;
  }
  return shares;
}

/// What one class finds, its likeliest first.
std::vector<Detection> of_class(std::span<const float> shares, std::size_t columns, std::int32_t label,
                                std::span<const Detection> boxes, const DecodeOptions& options) {
  const auto score = [&](std::size_t anchor) { return shares[anchor * columns + static_cast<std::size_t>(label) + 1]; };
  std::vector<std::size_t> order;
  for (std::size_t anchor = 0; anchor < boxes.size(); ++anchor) {
    if (score(anchor) > options.confidence && has_area(boxes[anchor])) order.push_back(anchor);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  if (order.size() > options.candidates) order.resize(options.candidates);
  const auto hides = [&](std::size_t kept, std::size_t next) {
    return intersection_over_union(boxes[kept], boxes[next]) > options.iou;
  };
  std::vector<Detection> found;
  for (const std::size_t anchor : nms(order, hides)) {
    found.push_back(boxes[anchor]);
    found.back().label = label;
    found.back().score = score(anchor);
  }
  return found;
}

}  // namespace

std::vector<Detection> decode(std::span<const float> offsets, std::span<const float> scores,
                              std::span<const network::Anchor> anchors, float width, float height,
                              const DecodeOptions& options) {
  const std::size_t columns = anchors.empty() ? 0 : scores.size() / anchors.size();
  if (columns < 2 || scores.size() != columns * anchors.size() || offsets.size() != 4 * anchors.size()) {
    throw Error("a detector with " + std::to_string(anchors.size()) + " anchors put out " +
                std::to_string(offsets.size()) + " offsets and " + std::to_string(scores.size()) +
                " scores; it takes 4 offsets, and a score for the background and each class, of every anchor");
  }
  std::vector<Detection> boxes(anchors.size());
  for (std::size_t i = 0; i < anchors.size(); ++i) boxes[i] = box_at(anchors[i], &offsets[4 * i], width, height);
  const std::vector<float> shares = softmax(scores, columns);
  std::vector<Detection> found;
  for (std::int32_t label = 0; label + 1 < static_cast<std::int32_t>(columns); ++label) {
    if (!is_wanted(label, options)) continue;
    const std::vector<Detection> more = of_class(shares, columns, label, boxes, options);
    found.insert(found.end(), more.begin(), more.end());
  }
  return likeliest(std::move(found), options);
}

BoxDecoder anchor_decoder(const network::Network& network) {
  const auto width = static_cast<float>(network.input_shape()[2]),
             height = static_cast<float>(network.input_shape()[1]);
  return {[=, anchors = network.anchors()](const ImageOutputs& outputs, const DecodeOptions& options, float) {
            return decode(output_of(outputs, "boxes"), output_of(outputs, "scores"), anchors, width, height, options);
          },
          DecodeOptions().iou, DecodeOptions().candidates};
}

}  // namespace evener::detection
