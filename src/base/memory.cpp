#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <fstream>
#include <new>
#include <string>

namespace evener {
namespace {

constexpr std::size_t kHugePage_bytes = std::size_t{2} << 20, kLine_bytes = 64;

}  // namespace

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    const auto bytes = [&](std::size_t key) { return std::stoull(line.substr(key)) * 1024; };  // "VmRSS:    1234 kB"
    if (line.starts_with("VmRSS:")) memory.resident_bytes = bytes(6);
    if (line.starts_with("VmHWM:")) memory.peak_bytes = bytes(6);
  }
  return memory;
}

void give_back_freed_memory() {
  malloc_trim(0);
}

void* allocate_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage_bytes ? kHugePage_bytes : kLine_bytes;
  const std::size_t whole_bytes = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, whole_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (unit == kHugePage_bytes) madvise(memory, whole_bytes, MADV_HUGEPAGE);  // a wish; nothing is lost without
  return memory;
}

}  // namespace evener
