#include "task/detect/decoders/listed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace evener::task {

ListDecoder::ListDecoder(ListLayout layout) : layout_(std::move(layout)) {}

std::vector<Detection> ListDecoder::found(const ImageOutputs& outputs, const DecodeOptions& options,
                                          float /*pixel*/) const {
  const std::span<const float> boxes = output_of(outputs, layout_.boxes), scores = output_of(outputs, layout_.scores),
                               classes = output_of(outputs, layout_.classes);
  std::size_t rows = boxes.size() / layout_.box_columns;
  if (scores.size() != rows * layout_.other_columns || classes.size() != rows * layout_.other_columns) {
    throw Error("a detector's list has " + std::to_string(rows) + " boxes, but " + std::to_string(scores.size()) +
                " scores and " + std::to_string(classes.size()) + " classes");
  }
  if (!layout_.count.empty()) {
    const std::span<const float> count = output_of(outputs, layout_.count);
    if (!count.empty() && count[0] >= 0) rows = std::min(rows, static_cast<std::size_t>(std::min(count[0], 1e6F)));
  }
  const auto width = static_cast<float>(layout_.width), height = static_cast<float>(layout_.height);
  const float scale_x = layout_.shares ? width : 1, scale_y = layout_.shares ? height : 1;
  std::vector<Detection> found;
  for (std::size_t i = 0; i < rows; ++i) {
    const float score = scores[i * layout_.other_columns + layout_.score];
    if (!(score > options.confidence)) continue;
    const float number = classes[i * layout_.other_columns + layout_.class_at];
    const float label = std::round(number) - static_cast<float>(layout_.first_class);
    if (!(label >= 0 && label < 1e6F) || !is_wanted(static_cast<std::int32_t>(label), options)) continue;
    const float* const side = &boxes[i * layout_.box_columns + layout_.first_box];
    const std::size_t x = layout_.y_first ? 1 : 0, y = 1 - x;
    Detection box{.x1 = side[x] * scale_x,
                  .y1 = side[y] * scale_y,
                  .x2 = side[x + 2] * scale_x,
                  .y2 = side[y + 2] * scale_y,
                  .label = static_cast<std::int32_t>(label),
                  .score = score};
    if (has_area(box)) found.push_back(box);
  }
  return likeliest(std::move(found), options);
}

}  // namespace evener::task
