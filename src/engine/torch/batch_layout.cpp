#include "engine/torch/batch_layout.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/tensor.h"

namespace evener::engine::torch_engine {
namespace {

/// The alignment of parts, at which GPUs read fastest.
constexpr std::int64_t kAlignment = 256;
/// Rows of BatchTensors::moves and colours.
constexpr std::int64_t kMoveNumbers = 3, kColourNumbers = 4;

/// Writes the numbers of one image into a column, each into a row of its own.
template <class Number, std::size_t kNumbers>
void put_column(at::Tensor& rows, std::size_t column, const std::array<Number, kNumbers>& numbers) {
  const auto columns = static_cast<std::size_t>(rows.size(1));
  Number* const values = rows.mutable_data_ptr<Number>();
  for (std::size_t row = 0; row < kNumbers; ++row) values[row * columns + column] = numbers[row];
}

/// `first`: the column of the first image.
void fill_changes(BatchTensors& parts, const data::ImageChanges& changes, const data::ImageShape& shape,
                  std::size_t first) {
  for (std::size_t i = 0; i < changes.moves.size(); ++i) {
    const auto& [right, down, is_mirrored] = changes.moves[i];
    // Images are moved and then mirrored, so the way back is mirrored first.
    const std::array<std::int64_t, kMoveNumbers> back = {-down, is_mirrored ? -1 : 1,
                                                         (is_mirrored ? shape.width - 1 : 0) - right};
    put_column(parts.moves, first + i, back);
  }
  for (std::size_t i = 0; i < changes.colours.size(); ++i) {
    const auto& [of_value, of_luma, brightness, of_mean] = changes.colours[i];
    put_column(parts.colours, first + i, std::array<float, kColourNumbers>{of_value, of_luma, brightness, of_mean});
  }
}

/// Writes the indices of a batch's images in the device's data, and how augmentation changes them.
void fill_sources(BatchTensors& parts, const data::Batch& batch) {
  auto* const samples = parts.samples.mutable_data_ptr<std::int64_t>();
  std::ranges::copy(batch.partners, std::ranges::copy(batch.samples, samples).out);
  fill_changes(parts, batch.changes, batch.shape, 0);
  fill_changes(parts, batch.partner_changes, batch.shape, batch.samples.size());
}

}  // namespace

BatchLayout::BatchLayout(const data::Batch& batch, bool with_images, const std::vector<DropoutLayer>& dropout,
                         std::size_t anchors) {
  const std::int64_t n = batch.count;
  numbers_ = add(at::kFloat, {2});
  if (with_images) {
    images_ = add(at::kByte, {n, batch.shape.channels, batch.shape.height, batch.shape.width});
  } else {
    const std::int64_t samples = n + std::ssize(batch.partners);
    samples_ = add(at::kLong, {samples});
    if (!batch.changes.moves.empty()) moves_ = add(at::kLong, {kMoveNumbers, samples});
    if (!batch.changes.colours.empty()) colours_ = add(at::kFloat, {kColourNumbers, samples});
  }
  if (anchors > 0) {
    const auto rows = static_cast<std::int64_t>(anchors);
    anchor_classes_ = add(at::kLong, {n, rows});
    anchor_offsets_ = add(at::kFloat, {n, rows, 4});
  } else {
    labels_ = add(at::kLong, {n});
  }
  if (std::holds_alternative<data::MixedClassTargets>(batch.targets)) {
    second_labels_ = add(at::kLong, {n});
    label_weights_ = add(at::kFloat, {n});
  }
  for (const DropoutLayer& layer : dropout) {
    std::vector<std::int64_t> shape = {n};
    shape.insert(shape.end(), layer.shape.begin(), layer.shape.end());
    masks_.emplace_back(layer.layer, add(at::kFloat, std::move(shape)));
  }
}

BatchLayout::Part BatchLayout::add(at::ScalarType type, std::vector<std::int64_t> shape) {
  const std::int64_t bytes = element_count(shape) * static_cast<std::int64_t>(at::elementSize(type));
  Part part{type, std::move(shape), bytes_, bytes};
  bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return part;
}

at::Tensor BatchLayout::view(const at::Tensor& block, const Part& part) {
  if (part.shape.empty()) return {};
  return block.narrow(0, part.offset, part.bytes).view(part.type).view(part.shape);
}

BatchTensors BatchLayout::parts_of(const at::Tensor& block) const {
  BatchTensors parts;
  parts.numbers = view(block, numbers_);
  parts.images = view(block, images_);
  parts.samples = view(block, samples_);
  parts.moves = view(block, moves_);
  parts.colours = view(block, colours_);
  parts.labels = view(block, labels_);
  parts.second_labels = view(block, second_labels_);
  parts.label_weights = view(block, label_weights_);
  parts.anchors = {view(block, anchor_classes_), view(block, anchor_offsets_)};
  for (const auto& [layer, part] : masks_) parts.masks.emplace(layer, view(block, part));
  return parts;
}

std::int64_t fill(BatchTensors& parts, const data::Batch& batch, double learning_rate, double weight,
                  std::uint64_t seed, const std::vector<DropoutLayer>& dropout, const BoxMatcher* matcher) {
  float* const numbers = parts.numbers.mutable_data_ptr<float>();
  numbers[0] = static_cast<float>(learning_rate);
  numbers[1] = static_cast<float>(weight);
  if (parts.images.defined()) {
    std::memcpy(parts.images.mutable_data_ptr(), batch.images.data(), parts.images.nbytes());
  } else {
    fill_sources(parts, batch);
  }
  for (const DropoutLayer& layer : dropout) {
    const auto mask = parts.masks.find(layer.layer);
    if (mask == parts.masks.end()) continue;
    draw_mask(layer, {seed, batch.epoch, batch.samples}, mask->second.mutable_data_ptr<float>());
  }
  if (matcher != nullptr) return fill_anchors(parts.anchors, batch, *matcher);
  std::ranges::copy(data::class_labels(batch.targets), parts.labels.mutable_data_ptr<std::int64_t>());
  if (const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets)) {
    std::ranges::copy(mixed->second_labels, parts.second_labels.mutable_data_ptr<std::int64_t>());
    std::ranges::copy(mixed->label_weights, parts.label_weights.mutable_data_ptr<float>());
  }
  return batch.count;
}

std::int64_t fill_anchors(const AnchorTargets& targets, const data::Batch& batch, const BoxMatcher& matcher) {
  const auto boxes = data::box_lists(batch.targets);
  std::int64_t* const classes = targets.classes.mutable_data_ptr<std::int64_t>();
  float* const offsets = targets.offsets.mutable_data_ptr<float>();
  const std::size_t anchors = matcher.anchors();
  std::vector<std::int64_t> matched(boxes.size());
  at::parallel_for(0, batch.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      matched[i] = matcher.match(boxes[i], {classes + i * anchors, anchors}, {offsets + 4 * i * anchors, 4 * anchors});
    }
  });
  return std::accumulate(matched.begin(), matched.end(), std::int64_t{0});
}

}  // namespace evener::engine::torch_engine
