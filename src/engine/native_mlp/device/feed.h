// Copies batches to an accelerator, each as one block. Blocks are filled in a ring of host memory, so that the host can
// fill the next one while a copy is under way.
#pragma once

#include <array>
#include <memory>

#include "data/batch.h"
#include "data/dataset.h"
#include "engine/native_mlp/device/accelerator.h"
#include "engine/native_mlp/device/kernels.h"
#include "engine/native_mlp/device/mlp.h"

namespace evener::engine::native_mlp {

class DeviceFeed {
 public:
  /// `resident`: data that the device is to keep whole; null: batches come with their pixels. Throws OutOfMemory,
  /// naming both figures, when the data doesn't fit.
  DeviceFeed(Accelerator& accelerator, const data::Dataset* resident);

  /// Starts the copy of a batch into the device's block, after the work enqueued before, which may still read the
  /// block.
  DeviceBatch put(const data::Batch& batch, const Header& header);
  /// The same for a header without a batch.
  const DeviceMemory& put(const Header& header);

  /// A counter that changes when the block was reallocated, which invalidates recorded steps.
  int moves() const { return moves_; }
  std::uint64_t allocated_bytes() const { return block_bytes_ + images_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<HostMemory> memory;
    std::size_t bytes = 0;
    std::unique_ptr<Moment> copied;
  };
  /// Makes room for `bytes` bytes in the next slot and in the block; returns the slot.
  std::byte* room(std::size_t bytes);
  void send(std::size_t bytes);
  void upload(const data::Dataset& dataset);
  void check(const data::Batch& batch) const;

  Accelerator& accelerator_;
  std::array<Slot, 4> slots_;
  std::size_t next_ = 0;
  std::unique_ptr<DeviceMemory> block_, images_;
  std::size_t block_bytes_ = 0, images_bytes_ = 0, resident_count_ = 0;
  int moves_ = 0;
};

}  // namespace evener::engine::native_mlp
