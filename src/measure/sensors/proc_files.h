// Reads the kernel's small text files below a root that tests can replace: its counters at one moment, and the usage
// between two moments. Inside measure/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

/// The file's text (at most 4 MB); absent if it can't be read. Reads to the end, since the kernel's files claim a size
/// of 0.
std::optional<std::string> read_small_file(const std::filesystem::path& path);
/// Its first line, without the newline.
std::optional<std::string> read_first_line(const std::filesystem::path& path);
/// A file that holds one whole number.
std::optional<std::uint64_t> read_count(const std::filesystem::path& path);
/// Why read_count() gives nothing: "no right to read NAME", "NAME says 'nan', which is no count".
std::string why_no_count(const std::filesystem::path& path, const std::string& name);

/// The number after "Key:" in files like /proc/meminfo, converted from kB to bytes.
std::optional<std::uint64_t> field_bytes(const std::string& text, std::string_view key);
/// The text after "key<separator>", trimmed, of the first line that starts with `key`.
std::optional<std::string> field_text(const std::string& text, std::string_view key, char separator);

/// Clock ticks of one line of /proc/stat.
struct CpuTicks {
  std::uint64_t busy = 0;   // user, nice, system, irq, softirq (guest time is part of user)
  std::uint64_t steal = 0;  // the host ran something else
  std::uint64_t idle = 0;   // idle and iowait
};
/// Parses /proc/stat: the first entry is for all CPUs together, then one per online CPU. Empty if `text` isn't
/// /proc/stat.
std::vector<CpuTicks> parse_stat(const std::string& text);

/// Parses /proc/PID/stat: user + system ticks of the process and of its ended children. The command's name may contain
/// spaces and parentheses.
std::optional<std::uint64_t> parse_process_ticks(const std::string& text);

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
