// Where a thread may run, as the kernel has it.
#pragma once

#include <sched.h>

#include <vector>

namespace evener::test {

/// The CPUs of the calling thread.
inline std::vector<int> kernels_cpus() {
  cpu_set_t cpus;
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return numbers;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) numbers.push_back(cpu);
  }
  return numbers;
}

}  // namespace evener::test
