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

/// Reads cgroup v2 and v1 files under `root` (another root than "/" is for tests). A group's limits are those of
/// itself and of all groups above it; what can't be read counts as no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

/// How many processes the kernel has killed for lack of memory since it started, in any group; 0 where it doesn't say.
std::uint64_t oom_kills(const std::filesystem::path& root = "/");

}  // namespace evener
