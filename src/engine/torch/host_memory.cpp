#include "engine/torch/host_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

namespace evener::engine::torch_engine {
namespace {

/// The size of a cache line and of the widest vectors.
constexpr std::size_t kAlignment = 64;

/// The largest block: malloc refuses larger ones, and additions to a size can't overflow.
constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() - 2 * kAlignment;

/// The header before each block.
struct Head {
  void* memory;  // as malloc gave it
  std::int64_t bytes;
};
static_assert(sizeof(Head) <= kAlignment);

std::atomic<std::int64_t> bytes_now{0}, bytes_peak{0};

void count(std::int64_t bytes) {
  const std::int64_t now = bytes_now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = bytes_peak.load(std::memory_order_relaxed);
  while (now > peak && !bytes_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void release(void* block) {
  if (block == nullptr) return;
  const Head head = *(static_cast<Head*>(block) - 1);
  count(-head.bytes);
  std::free(head.memory);
}

class HostAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* block = nullptr;
    if (bytes > 0) {
      std::size_t room = bytes + 2 * kAlignment;
      void* const memory = bytes <= kMost ? std::malloc(room) : nullptr;
      TORCH_CHECK_WITH(OutOfMemoryError, memory != nullptr, "a tensor needs ", bytes, " bytes");
      block = static_cast<std::byte*>(memory) + sizeof(Head);
      room -= sizeof(Head);
      std::align(kAlignment, bytes, block, room);
      new (static_cast<Head*>(block) - 1) Head{memory, static_cast<std::int64_t>(bytes)};
      count(static_cast<std::int64_t>(bytes));
    }
    return {block, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void use_host_memory() {
  // Never destroyed: tensors may be freed after all other objects.
  static HostAllocator* const allocator = new HostAllocator;
  c10::SetCPUAllocator(allocator, /*priority=*/1);
}

std::int64_t host_memory_bytes() {
  return bytes_now.load(std::memory_order_relaxed);
}

std::int64_t peak_host_memory_bytes() {
  return bytes_peak.load(std::memory_order_relaxed);
}

void begin_peak_of_host_memory() {
  bytes_peak.store(host_memory_bytes(), std::memory_order_relaxed);
}

}  // namespace evener::engine::torch_engine
