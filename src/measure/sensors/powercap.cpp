#include "measure/sensors/powercap.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr double kJoulesPerMicro = 1e-6;
constexpr double kRaplUpdate_s = 0.001;
constexpr double kRaplStep_j = 61e-6;       // of most processors; some count in 15.3 uJ
constexpr double kMostPackageWatts = 1000;  // more than any socket draws
constexpr const char* kPowercapRemedy =
    "run as root, or let an administrator run once: echo 'SUBSYSTEM==\"powercap\", KERNEL==\"intel-rapl*\", "
    "ACTION==\"add\", RUN+=\"/bin/sh -c \\'chmod a+r /sys%p/energy_uj || true\\'\"' | sudo tee "
    "/etc/udev/rules.d/70-energy.rules && sudo udevadm control --reload && sudo udevadm trigger --action=add "
    "--subsystem-match=powercap (until the next start: sudo chmod a+r /sys/class/powercap/*/energy_uj)";

/// Names like "intel-rapl:0" and "intel-rapl:0:1" in an order in which intel-rapl comes before its mmio repetition.
std::vector<fs::path> zone_folders(const fs::path& powercap) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(powercap, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().find(':') != std::string::npos) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string(), right = b.filename().string();
    const bool left_mmio = left.find("mmio") != std::string::npos, right_mmio = right.find("mmio") != std::string::npos;
    return std::tie(left_mmio, left) < std::tie(right_mmio, right);
  });
  return folders;
}

struct Zone {
  std::string name;
  record::Covers covers = record::Covers::kPackage;
};

/// "package-0" for a package, "package-0 dram" for its memory; nothing for a zone that would be counted twice.
std::optional<Zone> zone_of(const fs::path& folder) {
  const std::string name = read_first_line(folder / "name").value_or("");
  if (name.starts_with("package-")) return Zone{name, record::Covers::kPackage};
  if (name.starts_with("psys")) return Zone{name, record::Covers::kMachine};
  if (name != "dram") return std::nullopt;
  const std::string id = folder.filename().string();  // "intel-rapl:0:2": the package's folder is "intel-rapl:0"
  const fs::path package = folder.parent_path() / id.substr(0, id.rfind(':'));
  return Zone{read_first_line(package / "name").value_or(id.substr(0, id.rfind(':'))) + " dram", record::Covers::kDram};
}

}  // namespace

Powercap::Powercap(const fs::path& root) {
  const fs::path powercap = root / "sys/class/powercap";
  std::set<std::string> seen;
  std::string unreadable;
  for (const fs::path& folder : zone_folders(powercap)) {
    const std::optional<Zone> zone = zone_of(folder);
    if (!zone || seen.contains(zone->name)) continue;
    const fs::path counter = folder / "energy_uj";
    std::error_code error;
    if (!fs::exists(counter, error)) continue;
    if (!read_count(counter)) {
      if (unreadable.empty()) unreadable = counter.string();
      continue;
    }
    seen.insert(zone->name);
    counters_.push_back(counter);
    channels_.push_back({.name = zone->name,
                         .covers = zone->covers,
                         .joules_per_count = kJoulesPerMicro,
                         .range = read_count(folder / "max_energy_range_uj").value_or(0),
                         .step_j = kRaplStep_j,
                         .step_s = kRaplUpdate_s,
                         .most_watts = kMostPackageWatts});
  }
  const bool packages =
      std::ranges::any_of(channels_, [](const Channel& channel) { return channel.covers == record::Covers::kPackage; });
  if (packages) return;
  if (!unreadable.empty()) {
    channels_.clear();
    counters_.clear();
    refuse("no right to read " + unreadable, kPowercapRemedy);
    return;
  }
  if (!channels_.empty()) return;  // psys alone
  refuse(fmt::format("no energy counters: {} has no package domain (usual in virtual machines and containers)",
                     powercap.string()),
         "nothing inside a virtual machine or container; on a machine of its own: sudo modprobe intel_rapl_msr");
}

std::vector<Reading> Powercap::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (const fs::path& counter : counters_) {
    Reading& reading = readings.emplace_back();
    reading.count = read_count(counter);
    if (!reading.count) reading.problem = counter.string() + " could not be read any more";
  }
  return readings;
}

}  // namespace evener::measure
