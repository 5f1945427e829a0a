#include "measure/sensors/proc_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/names.h"
#include "base/numbers.h"
#include "measure/sensors/energy_sensor.h"

namespace evener::measure {
namespace {

constexpr std::size_t kLimitBytes = std::size_t{4} << 20;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

namespace fs = std::filesystem;

std::uint64_t grown(std::uint64_t from, std::uint64_t to) {
  return to > from ? to - from : 0;
}

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& value) {
  if (sum && value) *sum += *value;
}

MemoryReading read_process_memory(const fs::path& folder, bool with_pss) {
  MemoryReading memory;
  if (const auto status = read_small_file(folder / "status")) {
    memory.rss_bytes = field_bytes(*status, "VmRSS");
    memory.peak_rss_bytes = field_bytes(*status, "VmHWM");
    memory.swap_bytes = field_bytes(*status, "VmSwap");
  }
  if (with_pss) {
    if (const auto rollup = read_small_file(folder / "smaps_rollup")) memory.pss_bytes = field_bytes(*rollup, "Pss");
  }
  return memory;
}

}  // namespace

std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  char buffer[8192];
  while (text.size() < kLimitBytes && (file.read(buffer, sizeof buffer) || file.gcount() > 0)) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<std::string> read_first_line(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_small_file(path);
  if (!text || text->empty()) return std::nullopt;
  return std::string(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
}

std::optional<std::uint64_t> read_count(const std::filesystem::path& path) {
  const std::optional<std::string> line = read_first_line(path);
  return line ? to_number<std::uint64_t>(*line) : std::nullopt;
}

std::string why_no_count(const fs::path& path, const std::string& name) {
  errno = 0;
  if (const auto text = read_small_file(path)) {
    const std::string line(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
    return line.empty() ? name + " is empty" : fmt::format("{} says {}, which is no count", name, quoted_text(line));
  }
  if (errno == EACCES || errno == EPERM) return fmt::format("{} to read {}", kNoRight, name);
  return errno == ENOENT ? name + " is not there" : fmt::format("{} can't be read: {}", name, std::strerror(errno));
}

std::optional<std::string> field_text(const std::string& text, std::string_view key, char separator) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    const std::size_t split = line.find(separator);
    if (split != std::string_view::npos && trimmed(line.substr(0, split)) == key) {
      return std::string(trimmed(line.substr(split + 1)));
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> field_bytes(const std::string& text, std::string_view key) {
  const std::optional<std::string> value = field_text(text, key, ':');
  if (!value) return std::nullopt;
  const std::optional<std::uint64_t> count = number(*value);
  if (!count) return std::nullopt;
  return value->ends_with("kB") ? *count * 1024 : *count;
}

std::vector<CpuTicks> parse_stat(const std::string& text) {
  std::vector<CpuTicks> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(fields >> name >> user >> nice >> system >> idle)) return {};
    fields >> iowait >> irq >> softirq >> steal;  // absent in very old kernels
    all.push_back({user + nice + system + irq + softirq, steal, idle + iowait});
  }
  return all;
}

std::optional<std::uint64_t> parse_process_ticks(const std::string& text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;  // state (field 3) to cmajflt (13), see proc(5)
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  if (!(fields >> user >> system)) return std::nullopt;
  fields >> children_user >> children_system;
  return user + system + children_user + children_system;
}

Counters read_counters(const fs::path& root, const std::vector<int>& children) {
  // On a busy machine this thread may be preempted between reading the clock and the counters, which would inflate the
  // usage. So read again until both come close together.
  constexpr double kAtOnce_s = 0.002;
  constexpr int kMostTries = 5;
  Counters counters;
  std::optional<std::string> stat;
  for (int tries = 0; tries < kMostTries; ++tries) {
    counters.time_s = now_s();
    stat = read_small_file(root / "proc/self/stat");
    if (now_s() - counters.time_s < kAtOnce_s) break;
  }
  if (stat) counters.process_ticks = parse_process_ticks(*stat);
  for (const int pid : children) {
    const auto of_child = read_small_file(root / "proc" / std::to_string(pid) / "stat");
    if (of_child && counters.process_ticks) *counters.process_ticks += parse_process_ticks(*of_child).value_or(0);
  }
  if (const auto of_all = read_small_file(root / "proc/stat")) {
    const std::vector<CpuTicks> lines = parse_stat(*of_all);
    if (!lines.empty()) {
      counters.all = lines.front();
      counters.cores.assign(lines.begin() + 1, lines.end());
    }
  }
  return counters;
}

std::optional<std::uint64_t> read_throttle_events(const fs::path& root) {
  std::optional<std::uint64_t> sum;
  std::error_code error;
  for (fs::directory_iterator it(root / "sys/devices/system/cpu", error), end; !error && it != end;
       it.increment(error)) {
    if (auto count = read_count(it->path() / "thermal_throttle/core_throttle_count")) sum = sum.value_or(0) + *count;
  }
  return sum;
}

Usage usage_between(const Counters& from, const Counters& to) {
  Usage usage;
  const double seconds = to.time_s - from.time_s;
  const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (seconds < kShortestUsageWindow_s) return usage;
  const auto percent = [&](std::uint64_t ticks) { return 100 * static_cast<double>(ticks) / ticks_per_s / seconds; };
  if (from.process_ticks && to.process_ticks) {
    const std::uint64_t ticks = grown(*from.process_ticks, *to.process_ticks);
    usage.process_percent = percent(ticks);
    usage.process_cpu_s = static_cast<double>(ticks) / ticks_per_s;
  }
  if (from.all && to.all) {
    usage.steal_percent = percent(grown(from.all->steal, to.all->steal));
    if (usage.process_percent) {
      // The two counters are not read at the same instant, so the difference may be negative by a tick or two.
      usage.others_percent = std::max(0.0, percent(grown(from.all->busy, to.all->busy)) - *usage.process_percent);
    }
  }
  for (std::size_t core = 0; core < std::min(from.cores.size(), to.cores.size()); ++core) {
    // As a share of the ticks counted for this CPU rather than of the time, because the kernel doesn't count idle CPUs'
    // ticks on time.
    const std::uint64_t busy = grown(from.cores[core].busy, to.cores[core].busy);
    const std::uint64_t rest =
        grown(from.cores[core].idle, to.cores[core].idle) + grown(from.cores[core].steal, to.cores[core].steal);
    usage.core_percent.push_back(busy + rest == 0 ? 0
                                                  : 100 * static_cast<double>(busy) / static_cast<double>(busy + rest));
  }
  return usage;
}

MemoryReading read_memory(const fs::path& root, bool with_pss, const std::vector<int>& children) {
  MemoryReading memory = read_process_memory(root / "proc/self", with_pss);
  for (const int pid : children) {
    const MemoryReading child = read_process_memory(root / "proc" / std::to_string(pid), with_pss);
    add(memory.rss_bytes, child.rss_bytes);
    add(memory.swap_bytes, child.swap_bytes);
    add(memory.pss_bytes, child.pss_bytes);
  }
  return memory;
}

std::optional<std::uint64_t> read_peak_rss(const fs::path& root, int pid) {
  return read_process_memory(root / "proc" / std::to_string(pid), false).peak_rss_bytes;
}

}  // namespace evener::measure
