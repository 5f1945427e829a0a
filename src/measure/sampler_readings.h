// What a sample is made of: counters of the kernel at one moment, and what happened between two moments.
// Inside measure/ only; pure enough to be tested on made-up files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "measure/sensors/proc_files.h"

namespace evener::measure {

/// Counters that only grow, read at one moment. Absent: the file isn't there.
struct Counters {
  double time_s = 0;
  std::optional<std::uint64_t> process_ticks;  // this process and its children, user + system
  std::optional<CpuTicks> all;
  std::vector<CpuTicks> cores;  // of each online logical CPU
};
/// `children`: running processes that count as part of this one.
Counters read_counters(const std::filesystem::path& root, const std::vector<int>& children = {});

/// Thermal throttling events of all cores since the machine started; absent where the kernel doesn't count them.
std::optional<std::uint64_t> read_throttle_events(const std::filesystem::path& root);

/// Windows shorter than this are less than a few clock ticks and say nothing.
constexpr double kShortestUsageWindow_s = 0.05;

/// Percent are of one logical CPU; absent where a counter is, or where less than kShortestUsageWindow_s has passed.
struct Usage {
  std::optional<double> process_percent, others_percent, steal_percent;
  std::optional<double> process_cpu_s;
  std::vector<double> core_percent;
};
Usage usage_between(const Counters& from, const Counters& to);

struct MemoryReading {
  std::optional<std::uint64_t> rss_bytes, peak_rss_bytes, swap_bytes, pss_bytes;
};
/// The memory of this process and `children`; PSS (shared pages divided among their users) only if asked for, since it
/// takes long.
MemoryReading read_memory(const std::filesystem::path& root, bool with_pss, const std::vector<int>& children = {});
/// The highest resident size of a process so far; absent when it has ended.
std::optional<std::uint64_t> read_peak_rss(const std::filesystem::path& root, int pid);

}  // namespace evener::measure
