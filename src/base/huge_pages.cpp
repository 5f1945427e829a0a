#include "base/huge_pages.h"

#include <sys/mman.h>

#include <new>

namespace evener {
namespace {

constexpr std::size_t kHugePage_bytes = std::size_t{2} << 20, kLine_bytes = 64;

}  // namespace

void* allocate_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage_bytes ? kHugePage_bytes : kLine_bytes;
  const std::size_t whole_bytes = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, whole_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (unit == kHugePage_bytes) madvise(memory, whole_bytes, MADV_HUGEPAGE);  // a wish; nothing is lost without
  return memory;
}

}  // namespace evener
