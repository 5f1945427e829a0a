#include "base/process_memory.h"

#include <fstream>
#include <string>

namespace evener {

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

}  // namespace evener
