#include "engine/torch/feed.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "base/phase.h"
#include "engine/engine.h"

namespace evener::engine::torch_engine {
namespace {

/// Images that are uploaded together.
constexpr std::size_t kUpload_bytes = std::size_t{64} << 20;

at::TensorOptions host_bytes(const Streams& streams) {
  return at::TensorOptions().dtype(at::kByte).pinned_memory(streams.asynchronous());
}

void require_room(const Streams& streams, std::size_t bytes) {
  if (!streams.asynchronous()) return;
  const auto [free, total] = at::getDeviceAllocator(streams.device().type())->getMemoryInfo(streams.device().index());
  if (bytes <= free) return;
  throw OutOfMemory("--data-on device: the images take " + bytes_text(bytes) + ", and " + streams.device().str() +
                    " has " + bytes_text(free) + " of its " + bytes_text(total) +
                    " free. Use --data-on host, or a smaller --size");
}

}  // namespace

Feed::Slot::Slot(const Streams& streams)
    : copied(streams), used(streams), copy_begin(streams, /*timed=*/true), copy_end(streams, /*timed=*/true) {}

Feed::Feed(const Streams& streams, std::shared_ptr<const data::Dataset> resident, std::vector<DropoutLayer> dropout,
           std::uint64_t seed, const BoxMatcher* matcher)
    : streams_(streams), dropout_(std::move(dropout)), seed_(seed), matcher_(matcher) {
  for (std::size_t i = 0; i < kSlots; ++i) slots_.emplace_back(streams);
  if (resident) upload(*resident);
}

void Feed::upload(const data::Dataset& dataset) {
  const PhaseMark mark(Phase::kH2D);
  const data::ImageShape shape = dataset.shape();
  require_room(streams_, dataset.size() * shape.bytes());
  const WorkingIn compute(streams_.compute());
  data_ = at::empty({static_cast<std::int64_t>(dataset.size()), shape.channels, shape.height, shape.width},
                    at::TensorOptions().dtype(at::kByte).device(streams_.device()));
  const std::size_t together = std::clamp<std::size_t>(kUpload_bytes / shape.bytes(), 1, dataset.size());
  at::Tensor block = at::empty({static_cast<std::int64_t>(together * shape.bytes())}, at::kByte);
  for (std::size_t begin = 0; begin < dataset.size(); begin += together) {
    const std::size_t count = std::min(together, dataset.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      dataset.read(begin + i, {block.mutable_data_ptr<std::uint8_t>() + i * shape.bytes(), shape.bytes()});
    }
    at::Tensor target = data_.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count));
    target.copy_(block.narrow(0, 0, static_cast<std::int64_t>(count * shape.bytes())).view(target.sizes()));
  }
}

/// Nothing is to be done where the slot had a batch of the same kind before.
void Feed::make_room(Slot& slot, BatchLayout layout) {
  if (slot.layout == layout) return;
  slot.used.wait();  // the old block may be read yet
  slot.layout = {};  // of no batch, should there be no memory for the new one
  const std::int64_t bytes = layout.bytes();
  slot.host = at::empty({bytes}, host_bytes(streams_));
  slot.device = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(streams_.device()));
  slot.used.record(streams_.compute());  // whoever had this memory before was of the compute stream
  slot.host_batch = layout.parts_of(slot.host);
  slot.batch = layout.parts_of(slot.device);
  slot.layout = std::move(layout);
}

Feed::Slot& Feed::put(const data::Batch& batch, bool training, double learning_rate, double weight) {
  const PhaseMark mark(Phase::kH2D);
  static const std::vector<DropoutLayer> none;
  const auto& dropout = training ? dropout_ : none;
  Slot& slot = slots_[next_++ % slots_.size()];
  slot.copied.wait();  // of the batch that was here before: its host memory is about to be written
  const std::size_t anchors = matcher_ != nullptr ? matcher_->anchors() : 0;
  make_room(slot, BatchLayout(batch, !data_.defined(), dropout, anchors));
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

at::Tensor Feed::images_of(const BatchTensors& batch) const {
  return data_.defined() ? data_.index_select(0, batch.samples) : batch.images;
}

at::Tensor normalized_images(const at::Tensor& images, const at::Tensor& scale, const at::Tensor& shift,
                             at::MemoryFormat format) {
  return images.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true, format).mul_(scale).add_(shift);
}

}  // namespace evener::engine::torch_engine
