#include "task/detect/decoders/yolo.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"

namespace evener::task {

YoloDecoder::YoloDecoder(YoloLayout layout) : layout_(std::move(layout)) {
  if (layout_.boxes != YoloBoxes::kStrides) return;
  places_.reserve(static_cast<std::size_t>(layout_.places));
  for (std::int64_t stride = 8; std::ssize(places_) < layout_.places && stride <= 64; stride *= 2) {
    for (std::int64_t y = 0; y < layout_.height / stride; ++y) {
      for (std::int64_t x = 0; x < layout_.width / stride; ++x) {
        places_.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(stride)});
      }
    }
  }
}

std::vector<Detection> YoloDecoder::found(const ImageOutputs& outputs, const DecodeOptions& options,
                                          float /*pixel*/) const {
  const std::span<const float> values = output_of(outputs, layout_.output);
  const std::int64_t columns = 4 + (layout_.has_objectness ? 1 : 0) + layout_.classes;
  if (std::ssize(values) != layout_.places * columns) {
    throw Error("the output '" + layout_.output + "' has " + std::to_string(values.size()) +
                " values for an image, not " + std::to_string(layout_.places) + " x " + std::to_string(columns));
  }
  std::vector<Detection> boxes;
  layout_.transposed ? find_in_columns(values, options, boxes) : find_in_rows(values, options, boxes);
  return suppressed(std::move(boxes), options);
}

void YoloDecoder::find_in_rows(std::span<const float> values, const DecodeOptions& options,
                               std::vector<Detection>& found) const {
  const std::size_t first = layout_.has_objectness ? 5 : 4;
  const auto classes = static_cast<std::size_t>(layout_.classes);
  const float least = layout_.logits ? logit_of(options.confidence) : options.confidence;
  const float* row = values.data();
  for (std::size_t place = 0; place < static_cast<std::size_t>(layout_.places); ++place, row += first + classes) {
    // A product of two shares is at most the smaller one: most places end here.
    if (layout_.has_objectness && !(row[4] > least)) continue;
    const float* const scores = row + first;
    const float* const best = std::max_element(scores, scores + classes);
    if (!(*best > least)) continue;
    float score = layout_.logits ? probability_of(*best) : *best;
    if (layout_.has_objectness) score *= layout_.logits ? probability_of(row[4]) : row[4];
    if (score > options.confidence) add(place, row, 1, static_cast<std::size_t>(best - scores), score, options, found);
  }
}

void YoloDecoder::find_in_columns(std::span<const float> values, const DecodeOptions& options,
                                  std::vector<Detection>& found) const {
  constexpr std::size_t kBlock = 1024;  // places whose best scores stay in the first cache
  const auto places = static_cast<std::size_t>(layout_.places);
  const std::size_t first = layout_.has_objectness ? 5 : 4;
  const float least = layout_.logits ? logit_of(options.confidence) : options.confidence;
  float best[kBlock];
  for (std::size_t begin = 0; begin < places; begin += kBlock) {
    const std::size_t count = std::min(kBlock, places - begin);
    const float* const scores = values.data() + first * places + begin;
    std::copy_n(scores, count, best);
    for (std::size_t label = 1; label < static_cast<std::size_t>(layout_.classes); ++label) {
      const float* const more = scores + label * places;
      for (std::size_t i = 0; i < count; ++i) best[i] = more[i] > best[i] ? more[i] : best[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!(best[i] > least)) continue;
      std::size_t label = 0;
      while (scores[label * places + i] != best[i]) ++label;
      float score = layout_.logits ? probability_of(best[i]) : best[i];
      if (layout_.has_objectness) {
        const float object = values[4 * places + begin + i];
        score *= layout_.logits ? probability_of(object) : object;
      }
      if (score > options.confidence) {
        add(begin + i, values.data() + begin + i, places, label, score, options, found);
      }
    }
  }
}

void YoloDecoder::add(std::size_t place, const float* values, std::size_t step, std::size_t label, float score,
                      const DecodeOptions& options, std::vector<Detection>& found) const {
  if (!is_wanted(static_cast<std::int32_t>(label), options)) return;
  const auto width = static_cast<float>(layout_.width), height = static_cast<float>(layout_.height);
  float cx = values[0], cy = values[step], w = values[2 * step], h = values[3 * step];
  switch (layout_.boxes) {
    case YoloBoxes::kPixels:
      break;
    case YoloBoxes::kShares:
      cx *= width, w *= width, cy *= height, h *= height;
      break;
    case YoloBoxes::kStrides: {
      const Place& at = places_[place];
      cx = (cx + at.x) * at.stride, cy = (cy + at.y) * at.stride;
      w = std::exp(w) * at.stride, h = std::exp(h) * at.stride;
      break;
    }
  }
  Detection box{.x1 = cx - w / 2,
                .y1 = cy - h / 2,
                .x2 = cx + w / 2,
                .y2 = cy + h / 2,
                .label = static_cast<std::int32_t>(label),
                .score = score};
  if (!has_area(box)) return;
  found.push_back(box);
}

}  // namespace evener::task
