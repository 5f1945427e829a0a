// Brings batches to a device: through pinned memory, copied beside the work on the batch before.
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
    std::int64_t count = 0;          // of what the batch's sums are over
    Moment copied, used;             // the device has it; the device needs it no more
    Moment copy_begin, copy_end;     // timed
  };

  /// `resident`: what the device keeps; null = batches come with their pixels. `matcher`: of a detector, or null;
  /// outlives this.
  Feed(const Streams& streams, std::unique_ptr<const ResidentImages> resident, std::vector<DropoutLayer> dropout,
       std::uint64_t seed, const BoxMatcher* matcher = nullptr);

  /// Starts the copy of a batch; work given to the compute stream, which is the current one, from now on sees it.
  /// `training`: with the masks of dropout. The slot stays as it is until release() and so many more calls as there are
  /// slots.
  Slot& put(const data::Batch& batch, bool training, double learning_rate, double weight);
  /// The compute stream has been given all work that reads the slot.
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
