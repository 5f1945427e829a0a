// The CPU as a budget: which logical CPUs this process may use, which share a core, and pinning threads to them.
// Containers, cgroup quotas and taskset are respected.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evener {

/// Cores that are alike where a processor has several kinds, such as fast ones and economical ones.
struct CpuKind {
  std::string name;     // as hwloc knows it: "IntelCore", "IntelAtom"; may be empty
  int cores = 0;        // physical ones this process may use
  int cpus = 0;         // logical ones this process may use
  int capacity = 0;     // cpu_capacity of the kernel, 1024 for the fastest; 0 = not told
  int highest_mhz = 0;  // 0 = not told
};

struct CpuTopology {
  std::string model;         // "AMD EPYC 9B14", as the kernel says it
  std::vector<int> allowed;  // logical CPUs this process may run on, ascending
  // Allowed CPUs grouped by physical core, first thread of each core first. Cores of the fastest kind come first.
  std::vector<std::vector<int>> cores;
  double quota_cpus = 0;       // cgroup CPU quota in CPUs; 0 = none
  std::vector<CpuKind> kinds;  // fastest first; empty where all cores are alike or nobody ranks them
  int packages = 1;
  int numa_nodes = 1;
  std::vector<std::string> features;  // of avx2 fma avx512f avx512_bf16 avx512_vnni amx_bf16 amx_int8, those present
};

/// Reads the topology once (hwloc) and keeps it.
const CpuTopology& cpu_topology();
/// The topology in an XML description that hwloc exported, as a process that may use all of that machine would see it;
/// nothing where `xml` is no such description.
std::optional<CpuTopology> topology_from_xml(const std::string& xml);

/// "8 cores IntelCore (16 CPUs, up to 5.10 GHz), 8 cores IntelAtom (8 CPUs)"; "" for no kinds.
std::string kinds_text(const std::vector<CpuKind>& kinds);

/// Cores that may compute: physical cores allowed, no more than the quota rounded up; at least 1.
int usable_cores();
/// CPUs that threads may run on: logical ones allowed, no more than the quota rounded up; at least 1.
int usable_cpus();

/// Pins the calling thread (and threads it starts later) to `cpus`; empty = all allowed ones. Throws Error.
void pin_this_thread(const std::vector<int>& cpus);

/// The CPUs that the calling thread may run on for good; a thread of a team may be kept on one of them for a moment.
std::vector<int> cpus_of_this_thread();

/// Pins the calling thread for the object's lifetime, and restores its former affinity afterwards. Does nothing where
/// `cpus` is empty, or is where the thread runs already.
class PinnedTo {
 public:
  explicit PinnedTo(const std::vector<int>& cpus);
  ~PinnedTo();
  PinnedTo(const PinnedTo&) = delete;
  PinnedTo& operator=(const PinnedTo&) = delete;

 private:
  std::vector<int> before_;  // empty: the thread wasn't pinned
};

/// Total and available memory, the smaller of the machine's, the cgroup's and what `ulimit` leaves.
struct MemoryLimits {
  unsigned long long total_bytes = 0;
  unsigned long long available_bytes = 0;
  std::string limit = {};  // what sets available_bytes, in words; "": the machine's memory
};
/// `root`: of the cgroup's files (another root than "/" is for tests).
MemoryLimits memory_limits(const std::filesystem::path& root = "/");
/// "close other programs, or raise LIMIT": what helps where memory ran out.
std::string memory_advice(const std::filesystem::path& root = "/");

// What the control groups of this process (containers, Slurm, systemd) allow: CPU time and memory.

struct CgroupLimits {
  double quota_cpus = 0;                         // 0 = no quota
  std::optional<std::uint64_t> memory_bytes;     // the smallest limit on the way up
  std::optional<std::uint64_t> available_bytes;  // the smallest (limit - use + reclaimable file cache)
  std::string memory_file = {};                  // of the limit that leaves least
};

/// Reads cgroup v2 and v1 files under `root` (another root than "/" is for tests). The limits of this process's group
/// and of all groups above it count; a file that can't be read sets no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

/// How many processes in any group the kernel has killed for lack of memory since the machine started; 0 where it
/// doesn't say.
std::uint64_t oom_kills(const std::filesystem::path& root = "/");

}  // namespace evener
