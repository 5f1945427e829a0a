// Brings batches to an accelerator: each as one block, from memory of a ring, so that the host fills the next one while
// a copy is under way.
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

  /// Starts the copy of a batch into the block, after the work given before, which may read the block.
  DeviceBatch put(const data::Batch& batch, const Header& header);
  /// The same of a header alone.
  const DeviceMemory& put(const Header& header);

  /// Changes when the block moved: what was recorded with it is void.
  int moves() const { return moves_; }
  std::uint64_t allocated_bytes() const { return block_bytes_ + images_bytes_; }

 private:
  struct Slot {
    std::unique_ptr<HostMemory> memory;
    std::size_t bytes = 0;
    std::unique_ptr<Moment> copied;
  };
  /// Room for so many bytes in the next slot and in the block.
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
