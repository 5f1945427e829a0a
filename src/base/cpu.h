// The CPU as a budget: which logical CPUs this process may use, which share a core, and pinning threads to them.
// Containers, cgroup quotas and taskset are respected.
#pragma once

#include <string>
#include <vector>

namespace evener {

struct CpuTopology {
  std::string model;                    // "AMD EPYC 9B14", as the kernel says it
  std::vector<int> allowed;             // logical CPUs this process may run on, ascending
  std::vector<std::vector<int>> cores;  // allowed CPUs grouped by physical core, first thread of each core first
  double quota_cpus = 0;                // cgroup CPU quota in CPUs; 0 = none
  int packages = 1;
  int numa_nodes = 1;
  std::vector<std::string> features;  // of avx2 fma avx512f avx512_bf16 avx512_vnni amx_bf16 amx_int8, those present
};

/// Reads the topology once (hwloc) and keeps it.
const CpuTopology& cpu_topology();

/// Cores that may compute: physical cores allowed, no more than the quota rounded up; at least 1.
int usable_cores();
/// CPUs that threads may run on: logical ones allowed, no more than the quota rounded up; at least 1.
int usable_cpus();

/// Pins the calling thread (and threads it starts later) to `cpus`; empty = all allowed ones. Throws Error.
void pin_this_thread(const std::vector<int>& cpus);

/// How often pin_this_thread() has changed where the calling thread may run.
int pins_of_this_thread();

/// Pins the calling thread for a while, unless `cpus` are none; afterwards it may run where it might before.
class PinnedTo {
 public:
  explicit PinnedTo(const std::vector<int>& cpus);
  ~PinnedTo();
  PinnedTo(const PinnedTo&) = delete;
  PinnedTo& operator=(const PinnedTo&) = delete;

 private:
  std::vector<int> before_;  // empty: it wasn't pinned
};

/// Total and available physical memory, the smaller of the machine's and the cgroup's.
struct MemoryLimits {
  unsigned long long total_bytes = 0;
  unsigned long long available_bytes = 0;
};
MemoryLimits memory_limits();

}  // namespace evener
