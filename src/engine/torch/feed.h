// Copies batches to a device through pinned memory, while the device still computes on the batch before.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "engine/torch/batch_layout.h"
#include "engine/torch/convert.h"
#include "engine/torch/dropout.h"
#include "engine/torch/resident_images.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

class Feed {
 public:
  /// Steps that may be under way at once.
  static constexpr std::size_t kSlots = 3;

  /// A place for one batch, in pinned memory and on the device.
  struct Slot {
    explicit Slot(const Streams& streams);
    BatchLayout layout;
    at::Tensor host, device;         // blocks of layout.bytes() bytes
    BatchTensors host_batch, batch;  // their parts
    std::int64_t count = 0;          // of samples or anchors that the batch's sums are over
    Moment copied, used;             // the copy has ended; the device no longer reads the slot
    Moment copy_begin, copy_end;     // timed
  };

  /// `resident`: images that the device keeps; null = batches come with their pixels. `matcher`: a detector's, or null;
  /// outlives this.
  Feed(const Streams& streams, std::unique_ptr<const ResidentImages> resident, std::vector<DropoutLayer> dropout,
       std::uint64_t seed, const BoxMatcher* matcher = nullptr);

  /// Starts the copy of a batch; work enqueued afterwards on the compute stream, which must be the current one, sees
  /// it. `training`: with dropout masks. The slot keeps its batch until release() was called and put() has gone through
  /// all kSlots slots again.
  Slot& put(const data::Batch& batch, bool training, double learning_rate, double weight);
  /// To be called when all work that reads the slot has been enqueued on the compute stream.
  void release(Slot& slot) { slot.used.record(streams_.compute()); }

  /// Whether copies are timed, between copy_begin and copy_end.
  void time_copies(bool timed) { timed_ = timed; }

  /// The images of a batch as uint8 (N, C, H, W).
  at::Tensor images_of(const BatchTensors& batch) const { return resident_ ? resident_->of(batch) : batch.images; }

 private:
  void make_room(Slot& slot, BatchLayout layout);

  const Streams& streams_;
  std::unique_ptr<const ResidentImages> resident_;
  std::vector<DropoutLayer> dropout_;
  std::uint64_t seed_;
  const BoxMatcher* matcher_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  bool timed_ = false;
};

/// float32 (N, C, H, W) in `format`, normalised, on the images' device; `scale` and `shift` (1, C, 1, 1).
at::Tensor normalized_images(const at::Tensor& images, const at::Tensor& scale, const at::Tensor& shift,
                             at::MemoryFormat format);

}  // namespace evener::engine::torch_engine
