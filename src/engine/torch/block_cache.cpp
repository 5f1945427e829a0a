#include "engine/torch/block_cache.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace evener::engine::torch_engine {
namespace {

constexpr std::size_t kAlign_bytes = 64;          // of a cache line and of the widest vector
constexpr std::size_t kHugePage_bytes = 2 << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

/// Stands before the data of every block.
struct alignas(kAlign_bytes) BlockCache::Block {
  std::size_t capacity_bytes = 0;  // of the data; below kSmallest_bytes: not cached

  void* data() { return this + 1; }
  static Block* of(void* data) { return static_cast<Block*>(data) - 1; }
};

BlockCache& BlockCache::instance() {
  static BlockCache* cache = new BlockCache;  // never destroyed: tensors may outlive static objects
  return *cache;
}

void BlockCache::install() { c10::SetCPUAllocator(&instance(), /*priority=*/100); }

c10::DataPtr BlockCache::allocate(std::size_t bytes) {
  void* data = bytes == 0 ? nullptr : take(bytes);
  return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
}

c10::DeleterFnPtr BlockCache::raw_deleter() const { return &release; }

void BlockCache::copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

void BlockCache::release(void* data) {
  if (data != nullptr) instance().give(data);
}

void* BlockCache::take(std::size_t bytes) {
  const bool cached = bytes >= kSmallest_bytes;
  const std::size_t capacity = cached ? round_up(bytes, kSmallest_bytes / 4) : bytes;
  if (cached) {
    const std::scoped_lock lock(mutex_);
    const auto found = free_.lower_bound(capacity);
    // A block up to a quarter larger will do: the last, shorter batch of an epoch fits into the blocks of the others.
    if (found != free_.end() && found->first <= capacity + capacity / 4) {
      Block* block = found->second;
      free_.erase(found);
      kept_bytes_ -= block->capacity_bytes;
      in_use_bytes_ += block->capacity_bytes;
      peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
      return block->data();
    }
    in_use_bytes_ += capacity;
    peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
    evict();
  }
  const bool huge = capacity >= kHugePage_bytes;
  const std::size_t total = round_up(capacity + sizeof(Block), huge ? kHugePage_bytes : kAlign_bytes);
  void* memory = std::aligned_alloc(huge ? kHugePage_bytes : kAlign_bytes, total);
  if (memory == nullptr) {
    if (cached) {
      const std::scoped_lock lock(mutex_);
      in_use_bytes_ -= capacity;
    }
    TORCH_CHECK(false, "can't allocate memory: ", bytes, " bytes");
  }
  // Fewer, larger pages: fewer faults at first use and fewer misses later. Only advice, so its result doesn't matter.
  if (huge) madvise(memory, total, MADV_HUGEPAGE);
  Block* block = new (memory) Block;
  block->capacity_bytes = capacity;
  return block->data();
}

void BlockCache::give(void* data) {
  Block* block = Block::of(data);
  if (block->capacity_bytes < kSmallest_bytes) {
    std::free(block);
    return;
  }
  const std::scoped_lock lock(mutex_);
  in_use_bytes_ -= block->capacity_bytes;
  kept_bytes_ += block->capacity_bytes;
  free_.emplace(block->capacity_bytes, block);
  evict();
}

/// Gives the largest kept blocks back until the bound holds.
void BlockCache::evict() {
  while (!free_.empty() && in_use_bytes_ + kept_bytes_ > peak_bytes_ + peak_bytes_ / 8) {
    const auto largest = std::prev(free_.end());
    kept_bytes_ -= largest->first;
    std::free(largest->second);
    free_.erase(largest);
  }
}

}  // namespace evener::engine::torch_engine
