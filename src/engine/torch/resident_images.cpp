#include "engine/torch/resident_images.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "base/names.h"
#include "base/phase.h"
#include "data/each_index.h"
#include "engine/engine.h"

namespace evener::engine::torch_engine {
namespace {

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

}  // namespace

ResidentImages::ResidentImages(const Streams& streams, const data::Dataset& dataset, int threads) {
  const WorkingIn compute(streams.compute());
  const data::ImageShape shape = dataset.shape();
  upload(streams, dataset, threads);
  channels_ = counted_along({1, shape.channels, 1, 1}, streams.device());
  rows_ = counted_along({1, 1, shape.height, 1}, streams.device());
  columns_ = counted_along({1, 1, 1, shape.width}, streams.device());
}

void ResidentImages::upload(const Streams& streams, const data::Dataset& dataset, int threads) {
  const PhaseMark mark(Phase::kH2D);
  const data::ImageShape shape = dataset.shape();
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

}  // namespace evener::engine::torch_engine
