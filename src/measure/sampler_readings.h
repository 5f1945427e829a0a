// The ingredients of a sample: the kernel's counters at one moment, and the usage between two moments. Reads below a
// root that tests can replace. Inside measure/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "measure/sensors/proc_files.h"

namespace evener::measure {

/// Counters that only grow, read at one moment. Absent if their file can't be read.
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

/// Shorter windows contain too few clock ticks to give a usage.
constexpr double kShortestUsageWindow_s = 0.05;

/// The usage between two moments, in percent of one logical CPU. Absent if a counter is absent, or if less than
/// kShortestUsageWindow_s has passed.
struct Usage {
  std::optional<double> process_percent, others_percent, steal_percent;
  std::optional<double> process_cpu_s;
  std::vector<double> core_percent;
};
Usage usage_between(const Counters& from, const Counters& to);

struct MemoryReading {
  std::optional<std::uint64_t> rss_bytes, peak_rss_bytes, swap_bytes, pss_bytes;
};
/// The memory of this process and `children`. `with_pss`: also PSS, which divides shared pages among their users and
/// takes long to read.
MemoryReading read_memory(const std::filesystem::path& root, bool with_pss, const std::vector<int>& children = {});
/// The peak resident size of process `pid` so far; absent if it has ended.
std::optional<std::uint64_t> read_peak_rss(const std::filesystem::path& root, int pid);

}  // namespace evener::measure
