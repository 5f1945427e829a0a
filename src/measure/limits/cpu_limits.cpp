#include "measure/limits/cpu_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/numbers.h"
#include "measure/limits/file_limit.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

/// The folders directly in `folder` whose names begin with `prefix`, by the numbers and names that follow.
std::vector<fs::path> folders_of(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::ranges::sort(found, {}, [&](const fs::path& path) {
    const std::string rest = path.filename().string().substr(prefix.size());
    return std::pair(to_number<int>(rest).value_or(0), rest);
  });
  return found;
}

bool is_for_any(const fs::path& policy, const std::optional<std::vector<int>>& cpus) {
  if (!cpus) return true;
  std::istringstream members(read_first_line(policy / "affected_cpus").value_or(""));
  for (int cpu = 0; members >> cpu;) {
    if (std::ranges::find(*cpus, cpu) != cpus->end()) return true;
  }
  return false;
}

/// `files` may have a wildcard.
void tell_files(LimitSet& set, const std::string& files) {
  set.command = [files](std::uint64_t counts) { return fmt::format("echo {} | sudo tee {}", counts, files); };
  set.grant = fmt::format("sudo chgrp $(id -g) {0} && sudo chmod g+w {0}", files);
}

}  // namespace

LimitSet find_frequency_limits(const fs::path& root, const std::optional<std::vector<int>>& cpus) {
  constexpr double kKhzPerMhz = 1000;
  const fs::path policies = root / "sys/devices/system/cpu/cpufreq";
  LimitSet set{.what = "CPU frequency", .option = "--frequency", .unit = "MHz"};
  for (const fs::path& policy : folders_of(policies, "policy")) {
    const auto least = read_count(policy / "cpuinfo_min_freq"), most = read_count(policy / "cpuinfo_max_freq");
    const fs::path file = policy / "scaling_max_freq";
    if (!least || !most || !read_count(file) || !is_for_any(policy, cpus)) continue;
    const std::string name = policy.filename().string();
    set.limits.push_back(std::make_unique<FileLimit>(
        LimitFacts{
            .id = "cpufreq/" + name, .device = name, .counts_per_unit = kKhzPerMhz, .least = *least, .most = *most},
        file));
  }
  tell_files(set, (policies / "policy*/scaling_max_freq").string());
  if (set.limits.empty()) {
    set.refusal = fmt::format(
        "there is nothing to set: {} has no policy with a scaling_max_freq, because in virtual "
        "machines and most containers the host alone chooses the frequency",
        policies.string());
    set.remedy = "limit it on the host, or run on a machine of its own with a cpufreq driver";
  }
  return set;
}

LimitSet find_package_limits(const fs::path& root) {
  constexpr double kMicrowattsPerWatt = 1e6;
  const fs::path powercap = root / "sys/class/powercap";
  LimitSet set{.what = "CPU power", .option = "--power-limit cpu=WATTS", .unit = "W"};
  std::string files;
  for (const fs::path& zone : folders_of(powercap, "intel-rapl:")) {
    const std::string name = read_first_line(zone / "name").value_or("");
    if (!name.starts_with("package-") || read_first_line(zone / "constraint_0_name") != "long_term") continue;
    const fs::path file = zone / "constraint_0_power_limit_uw";
    if (!read_count(file)) continue;
    set.limits.push_back(
        std::make_unique<FileLimit>(LimitFacts{.id = "powercap/" + zone.filename().string(),
                                               .device = name,
                                               .counts_per_unit = kMicrowattsPerWatt,
                                               .least = static_cast<std::uint64_t>(kMicrowattsPerWatt),
                                               .most = read_count(zone / "constraint_0_max_power_uw").value_or(0)},
                                    file));
    files += (files.empty() ? "" : " ") + file.string();
  }
  tell_files(set, files);
  if (set.limits.empty()) {
    set.refusal = fmt::format(
        "there is nothing to set: {} has no package with a long-term limit (usual in virtual "
        "machines, containers, and on processors of others than Intel)",
        powercap.string());
    set.remedy = "limit it on the host, or in the firmware's settings";
  }
  return set;
}

}  // namespace evener::measure
