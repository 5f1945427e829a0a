// This process's memory: how much it holds, and memory in huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace evener {

/// Resident memory, as the kernel counts it; 0 where that is unknown.
struct ProcessMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;  // since the process began
};
ProcessMemory process_memory();

/// Gives freed memory back to the operating system, which the allocator would keep for later. For use after large
/// blocks that won't be needed again, such as the weights that a network was compiled from.
void give_back_freed_memory();

// Memory in huge pages, for arrays in which each access lies far from the last: in small pages nearly every access
// would miss the TLB.

/// Allocates memory that begins at a cache line; from 2 MiB on it begins at a multiple of a huge page's size, and
/// consists of huge pages where the system has them. The system provides it when it is first touched; std::free gives
/// it back. Throws std::bad_alloc.
void* allocate_pages(std::size_t bytes);

/// An allocator for containers whose memory comes from allocate_pages().
template <class Value>
struct PageAllocator {
  using value_type = Value;

  PageAllocator() = default;
  template <class Other>
  PageAllocator(const PageAllocator<Other>&) {}

  Value* allocate(std::size_t count) { return static_cast<Value*>(allocate_pages(count * sizeof(Value))); }
  void deallocate(Value* values, std::size_t) { std::free(values); }
  bool operator==(const PageAllocator&) const = default;
};

/// The bytes of a data set: each step reads samples from all over it.
using PageBytes = std::vector<std::uint8_t, PageAllocator<std::uint8_t>>;

}  // namespace evener
