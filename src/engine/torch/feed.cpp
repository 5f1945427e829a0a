#include "engine/torch/feed.h"

#include <utility>

#include "base/phase.h"

namespace evener::engine::torch_engine {
namespace {

at::TensorOptions host_bytes(const Streams& streams) {
  return at::TensorOptions().dtype(at::kByte).pinned_memory(streams.asynchronous());
}

}  // namespace

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
