// Memory for LibTorch's CPU tensors that is kept from step to step. A training step asks for the same large blocks again
// and again; the C library gives them back to the kernel, which hands out zeroed pages anew: 5 to 10 % of a ResNet step.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <map>
#include <mutex>

namespace evener::engine::torch_engine {

/// Keeps freed blocks from kSmallest_bytes on and hands them out again, best fit first. What is kept and what is in use
/// together stay below the most ever in use plus an eighth. Smaller blocks go to the C library.
class BlockCache final : public c10::Allocator {
 public:
  static constexpr std::size_t kSmallest_bytes = 256 << 10;

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;

  /// Becomes LibTorch's CPU allocator, for the rest of the process.
  static void install();

 private:
  struct Block;

  void* take(std::size_t bytes);
  void give(void* data);
  void evict();
  static void release(void* data);
  static BlockCache& instance();

  std::mutex mutex_;
  std::multimap<std::size_t, Block*> free_;  // by capacity
  std::size_t in_use_bytes_ = 0, kept_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace evener::engine::torch_engine
