// Memory for arrays in which each access lies far from the last: in huge pages, so that not every one of them has to
// look up its page first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace evener {

/// Begins at a cache line; from 2 MiB on at a huge page, of which it consists where the system has them. Is taken when
/// it is first touched, and given back by std::free. Throws std::bad_alloc.
void* allocate_pages(std::size_t bytes);

/// For containers.
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

/// Bytes of a data set: each step reads some from all over them.
using PageBytes = std::vector<std::uint8_t, PageAllocator<std::uint8_t>>;

}  // namespace evener
