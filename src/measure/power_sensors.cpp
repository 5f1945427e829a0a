#include "measure/power_sensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr double kShortestWindow_s = 1;

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

/// "package-0" for a package, "package-0 dram" for its memory, "" for a zone that would be counted twice or isn't ours.
std::string countable_name(const fs::path& folder) {
  const std::string name = read_first_line(folder / "name").value_or("");
  if (name.starts_with("package-")) return name;
  if (name != "dram") return "";
  const std::string id = folder.filename().string();  // "intel-rapl:0:2": the package's folder is "intel-rapl:0"
  const fs::path package = folder.parent_path() / id.substr(0, id.rfind(':'));
  return read_first_line(package / "name").value_or(id.substr(0, id.rfind(':'))) + " dram";
}

}  // namespace

PowercapSensor::PowercapSensor(const fs::path& root) {
  const fs::path powercap = root / "sys/class/powercap";
  std::set<std::string> seen;
  std::string unreadable;
  for (const fs::path& folder : zone_folders(powercap)) {
    const std::string name = countable_name(folder);
    if (name.empty() || seen.contains(name)) continue;
    const fs::path counter = folder / "energy_uj";
    std::error_code error;
    if (!fs::exists(counter, error)) continue;
    if (!read_count(counter)) {
      unreadable = counter.string();
      continue;
    }
    seen.insert(name);
    zones_.push_back({name, counter, read_count(folder / "max_energy_range_uj").value_or(0), {}, 0});
  }
  if (!zones_.empty()) return;
  refusal_ =
      unreadable.empty()
          ? fmt::format("no energy counters: {} has no package domain (usual in virtual machines and containers)",
                        powercap.string())
          : fmt::format(
                "no right to read {}: run as root, or let an administrator run "
                "'chmod a+r /sys/class/powercap/*/energy_uj' after each start of the machine",
                unreadable);
}

void PowercapSensor::update() {
  for (Zone& zone : zones_) {
    const std::optional<std::uint64_t> now_uj = read_count(zone.counter);
    if (!now_uj) {
      refusal_ = fmt::format("{} could not be read any more during the run", zone.counter.string());
      continue;
    }
    if (zone.last_uj) {
      const bool wrapped = *now_uj < *zone.last_uj;
      if (wrapped && zone.range_uj == 0) {
        refusal_ = fmt::format("{} went backwards, and its range is unknown", zone.counter.string());
      }
      zone.used_uj +=
          wrapped ? *now_uj + zone.range_uj - std::min(*zone.last_uj, zone.range_uj) : *now_uj - *zone.last_uj;
    }
    zone.last_uj = now_uj;
  }
}

Energy PowercapSensor::energy(double window_s) const {
  Energy energy;
  energy.seconds = window_s;
  energy.reason = refusal_;
  if (energy.reason.empty() && window_s < kShortestWindow_s) {
    energy.reason =
        fmt::format("a window of {:.2f} s is too short for the counters (at least {} s)", window_s, kShortestWindow_s);
  }
  if (!energy.reason.empty()) return energy;
  double joules = 0;
  std::string names;
  for (const Zone& zone : zones_) {
    energy.domains.push_back({zone.name, static_cast<double>(zone.used_uj) * 1e-6});
    joules += energy.domains.back().joules;
    names += (names.empty() ? "" : ", ") + zone.name;
  }
  energy.joules = joules;
  energy.edp_js = joules * window_s;
  energy.source = "powercap (measured, whole machine, idle power included): " + names;
  return energy;
}

}  // namespace evener::measure
