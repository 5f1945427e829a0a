#include "engine/torch/feed.h"

#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/names.h"
#include "base/phase.h"
#include "base/tensor.h"
#include "data/each_index.h"
#include "engine/engine.h"

namespace evener::engine::torch_engine {
namespace {

/// The alignment of parts, at which GPUs read fastest.
constexpr std::int64_t kPartAlignment = 256;
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

/// Bytes of images that are uploaded at once.
constexpr std::size_t kUpload_bytes = std::size_t{64} << 20;

void require_room(const Streams& streams, std::size_t bytes) {
  if (!streams.asynchronous()) return;
  const auto [free, total] = at::getDeviceAllocator(streams.device().type())->getMemoryInfo(streams.device().index());
  if (bytes <= free) return;
  throw OutOfMemory("--data-on device: the images take " + bytes_text(bytes) + ", and " + streams.device().str() +
                    " has " + bytes_text(free) + " of its " + bytes_text(total) +
                    " free. Use --data-on host, or a smaller --size");
}

/// 0, 1, 2, ... along one axis of `shape`, the others of which have an extent of 1.
at::Tensor counted_along(std::vector<std::int64_t> shape, at::Device device) {
  const std::int64_t extent = *std::ranges::max_element(shape);
  return at::arange(extent, at::TensorOptions().dtype(at::kLong).device(device)).view(shape);
}

/// One number per image as (N, 1, 1, 1), for broadcasting with (N, C, H, W).
at::Tensor of_images(const at::Tensor& numbers) {
  return numbers.view({-1, 1, 1, 1});
}

at::Tensor is_inside(const at::Tensor& index, std::int64_t extent) {
  return index.ge(0).logical_and(index.lt(extent));
}

/// The luma of each pixel as float32 (N, 1, H, W), of values in float32.
at::Tensor luma_of(const at::Tensor& values) {
  if (values.size(1) == 1) return values;
  const auto part = [&](std::int64_t channel, double weight) { return values.narrow(1, channel, 1).mul(weight); };
  return part(0, 0.299F).add_(part(1, 0.587F)).add_(part(2, 0.114F));
}

/// `colours`: float32 (4, N), see ColourChange.
at::Tensor recoloured(const at::Tensor& images, const at::Tensor& colours) {
  const auto number = [&](std::int64_t row) { return of_images(colours[row]); };
  const at::Tensor values = images.to(at::kFloat);
  const at::Tensor luma = luma_of(values);
  const at::Tensor mean = luma.mean({1, 2, 3}, /*keepdim=*/true, at::kDouble).to(at::kFloat);
  const at::Tensor shared = luma * number(1) + number(2) * mean * number(3);
  return (values * number(0)).add_(shared).clamp_(0, 255).add_(0.5).to(at::kByte);
}

at::TensorOptions host_bytes(const Streams& streams) {
  return at::TensorOptions().dtype(at::kByte).pinned_memory(streams.asynchronous());
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
  bytes_ += (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
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

ResidentImages::ResidentImages(const Streams& streams, const data::Dataset& dataset, int threads) {
  const WorkingIn compute(streams.compute());
  const data::ImageShape shape = dataset.shape();
  const PhaseMark mark(Phase::kH2D);
  require_room(streams, dataset.size() * shape.bytes());
  images_ = at::empty({static_cast<std::int64_t>(dataset.size()), shape.channels, shape.height, shape.width},
                      at::TensorOptions().dtype(at::kByte).device(streams.device()));
  const std::size_t together = std::clamp<std::size_t>(kUpload_bytes / shape.bytes(), 1, dataset.size());
  at::Tensor block = at::empty({static_cast<std::int64_t>(together * shape.bytes())}, at::kByte);
  std::uint8_t* const bytes = block.mutable_data_ptr<std::uint8_t>();
  for (std::size_t begin = 0; begin < dataset.size(); begin += together) {
    const std::size_t count = std::min(together, dataset.size() - begin);
    data::for_each_index(count, threads, [&](std::size_t i) {
      dataset.read(begin + i, {bytes + i * shape.bytes(), shape.bytes()});
    });
    at::Tensor target = images_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count));
    target.copy_(block.narrow(0, 0, static_cast<std::int64_t>(count * shape.bytes())).view(target.sizes()));
  }
  channels_ = counted_along({1, shape.channels, 1, 1}, streams.device());
  rows_ = counted_along({1, 1, shape.height, 1}, streams.device());
  columns_ = counted_along({1, 1, 1, shape.width}, streams.device());
}

at::Tensor ResidentImages::of(const BatchTensors& batch) const {
  at::Tensor images =
      batch.moves.defined() ? moved(batch.samples, batch.moves) : images_.index_select(0, batch.samples);
  if (batch.colours.defined()) images = recoloured(images, batch.colours);
  const std::int64_t count = batch.label_weights.defined() ? batch.label_weights.size(0) : images.size(0);
  if (count == images.size(0)) return images;  // no images are mixed into others
  const at::Tensor weights = of_images(batch.label_weights);
  const at::Tensor own = images.narrow(0, 0, count) * weights, others = images.narrow(0, count, count) * (1 - weights);
  return (own + others).add_(0.5).to(at::kByte);
}

/// Moves images by gathering each pixel from its source; pixels from outside the image are black. `moves`: see
/// BatchTensors.
at::Tensor ResidentImages::moved(const at::Tensor& samples, const at::Tensor& moves) const {
  const std::int64_t height = images_.size(2), width = images_.size(3);
  const at::Tensor rows = rows_ + of_images(moves[0]);
  const at::Tensor columns = columns_ * of_images(moves[1]) + of_images(moves[2]);
  const c10::List<std::optional<at::Tensor>> from = {of_images(samples), channels_, rows.clamp(0, height - 1),
                                                     columns.clamp(0, width - 1)};
  return at::index(images_, from).mul_(is_inside(rows, height)).mul_(is_inside(columns, width));
}

Feed::Slot::Slot(const Streams& streams)
    : copied(streams), used(streams), copy_begin(streams, /*timed=*/true), copy_end(streams, /*timed=*/true) {}

Feed::Feed(const Streams& streams, std::unique_ptr<const ResidentImages> resident, std::vector<DropoutLayer> dropout,
           std::uint64_t seed, const BoxMatcher* matcher)
    : streams_(streams), resident_(std::move(resident)), dropout_(std::move(dropout)), seed_(seed), matcher_(matcher) {
  for (std::size_t i = 0; i < kSlots; ++i) slots_.emplace_back(streams);
}

/// Allocates the slot's blocks for a layout. Does nothing if the slot's last batch had the same layout.
void Feed::make_room(Slot& slot, BatchLayout layout) {
  if (slot.layout == layout) return;
  slot.used.wait();  // the old block may still be read
  slot.layout = {};  // so that it has no layout if allocating throws
  const std::int64_t bytes = layout.bytes();
  slot.host = at::empty({bytes}, host_bytes(streams_));
  slot.device = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(streams_.device()));
  slot.used.record(streams_.compute());  // the block's former user worked on the compute stream
  slot.host_batch = layout.parts_of(slot.host);
  slot.batch = layout.parts_of(slot.device);
  slot.layout = std::move(layout);
}

Feed::Slot& Feed::put(const data::Batch& batch, bool training, double learning_rate, double weight) {
  const PhaseMark mark(Phase::kH2D);
  static const std::vector<DropoutLayer> none;
  const auto& dropout = training ? dropout_ : none;
  Slot& slot = slots_[next_++ % slots_.size()];
  slot.copied.wait();  // the slot's last batch must have been copied before its host memory is overwritten
  const std::size_t anchors = matcher_ != nullptr ? matcher_->anchors() : 0;
  make_room(slot, BatchLayout(batch, !resident_, dropout, anchors));
  slot.count = fill(slot.host_batch, batch, learning_rate, weight, seed_, dropout, matcher_);
  slot.used.hold_back(streams_.copy());
  {
    const WorkingIn copying(streams_.copy());
    if (timed_) slot.copy_begin.record(streams_.copy());
    slot.device.copy_(slot.host, /*non_blocking=*/true);
    if (timed_) slot.copy_end.record(streams_.copy());
    slot.copied.record(streams_.copy());
  }
  slot.copied.hold_back(streams_.compute());
  return slot;
}

at::Tensor normalized_images(const at::Tensor& images, const at::Tensor& scale, const at::Tensor& shift,
                             at::MemoryFormat format) {
  return images.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true, format).mul_(scale).add_(shift);
}

}  // namespace evener::engine::torch_engine
