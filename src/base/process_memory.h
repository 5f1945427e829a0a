// How much memory this process holds now, and the most that it has held.
#pragma once

#include <cstdint>

namespace evener {

/// Resident memory, as the kernel counts it; 0 where that is unknown.
struct ProcessMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;  // since the process began
};
ProcessMemory process_memory();

}  // namespace evener
