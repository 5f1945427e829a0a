// What the control groups of this process (containers, Slurm, systemd) allow: CPU time and memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace evener {

struct CgroupLimits {
  double quota_cpus = 0;                         // 0 = no quota
  std::optional<std::uint64_t> memory_bytes;     // the smallest limit on the way up
  std::optional<std::uint64_t> available_bytes;  // the smallest (limit - use + reclaimable file cache)
};

/// Reads cgroup v2 and v1 files under `root` (another root than "/" is for tests). The limits of this process's group
/// and of all groups above it count; a file that can't be read sets no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

/// How many processes in any group the kernel has killed for lack of memory since the machine started; 0 where it
/// doesn't say.
std::uint64_t oom_kills(const std::filesystem::path& root = "/");

}  // namespace evener
