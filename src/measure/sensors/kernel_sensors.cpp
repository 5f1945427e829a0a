#include "measure/sensors/kernel_sensors.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>

#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;
constexpr double kRaplUpdate_s = 0.001;
constexpr double kRaplStep_j = 61e-6;                              // of most processors; some count in 15.3 uJ
constexpr double kMostPackageWatts = 1000, kMostPsysWatts = 3000;  // more than any socket, or its machine, draws
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

constexpr const char* kPerfRemedy =
    "let an administrator run: echo 'kernel.perf_event_paranoid = 0' | sudo tee /etc/sysctl.d/70-energy.conf && sudo "
    "sysctl --system; or give the program the right alone: sudo setcap cap_perfmon+ep PROGRAM";

/// The number behind "event=" in "event=0x02".
std::optional<std::uint64_t> event_config(const std::string& text) {
  const std::size_t at = text.find("event=");
  if (at == std::string::npos) return std::nullopt;
  std::string_view digits = std::string_view(text).substr(at + 6);
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::uint64_t config = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), config, base);
  return error == std::errc() && end != digits.data() ? std::optional(config) : std::nullopt;
}

/// The CPUs of "0,18" or "0-1": one for each package.
std::vector<int> cpus_of(const std::string& mask) {
  std::vector<int> cpus;
  const char* at = mask.data();
  const char* const end = at + mask.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc() || first < 0) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || last - first > 4096) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = parsed.ptr + 1;  // behind the comma
  }
  return cpus;
}

constexpr const char* kHwmonRemedy =
    "run as root, or let an administrator run once: echo 'SUBSYSTEM==\"hwmon\", ACTION==\"add\", RUN+=\"/bin/sh -c "
    "\\'chmod a+r /sys%p/energy*_input || true\\'\"' | sudo tee /etc/udev/rules.d/71-energy.rules && sudo udevadm "
    "control --reload && sudo udevadm trigger --action=add --subsystem-match=hwmon";

std::vector<fs::path> sorted_folders(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    folders.push_back(it->path());
  }
  std::ranges::sort(folders);
  return folders;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string not_read_any_more(const fs::path& path) {
  return fmt::format("{} could not be read any more: {}", path.string(), why_no_count(path, "it"));
}

Lack lack_of(const std::string& part, record::Covers covers, const fs::path& file) {
  return {part, covers, why_no_count(file, file.string())};
}

/// The file of a device's power beside its energy counter; empty if there is none that can be read.
fs::path own_power(const fs::path& folder) {
  for (const char* file : {"power1_average", "power1_input"}) {
    if (read_count(folder / file)) return folder / file;
  }
  return {};
}

}  // namespace

Powercap::Powercap(const fs::path& root) {
  const fs::path powercap = root / "sys/class/powercap";
  std::set<std::string> seen;
  for (const fs::path& folder : zone_folders(powercap)) {
    const std::optional<Zone> zone = zone_of(folder);
    if (!zone || seen.contains(zone->name)) continue;
    const fs::path counter = folder / "energy_uj";
    const auto known = std::ranges::find(lacks_, zone->name, &Lack::part);
    if (!read_count(counter)) {
      if (known == lacks_.end()) lacks_.push_back(lack_of(zone->name, zone->covers, counter));
      continue;
    }
    if (known != lacks_.end()) lacks_.erase(known);  // its repetition can be read
    seen.insert(zone->name);
    counters_.push_back(counter);
    channels_.push_back({.name = zone->name,
                         .covers = zone->covers,
                         .joules_per_count = kMicro,
                         .range = read_count(folder / "max_energy_range_uj").value_or(0),
                         .step_j = kRaplStep_j,
                         .step_s = kRaplUpdate_s,
                         .most_watts = zone->covers == record::Covers::kMachine ? kMostPsysWatts : kMostPackageWatts});
  }
  const bool packages =
      std::ranges::any_of(channels_, [](const Channel& channel) { return channel.covers == record::Covers::kPackage; });
  if (!packages && !lacks_.empty()) {  // else psys may be alone
    channels_.clear();
    counters_.clear();
  }
  refuse_without_channels(
      kPowercapRemedy,
      fmt::format("no energy counters: {} has no package domain (usual in virtual machines and containers)",
                  powercap.string()),
      "nothing inside a virtual machine or container; on a machine of its own: sudo modprobe intel_rapl_msr");
}

std::vector<Reading> CounterFiles::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (const fs::path& counter : counters_) {
    Reading& reading = readings.emplace_back();
    reading.count = read_count(counter);
    if (!reading.count) reading.problem = not_read_any_more(counter);
  }
  return readings;
}

int open_perf_event(std::uint32_t type, std::uint64_t config, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  constexpr int kAllProcesses = -1, kNoGroup = -1;
  const long fd = syscall(SYS_perf_event_open, &attributes, kAllProcesses, cpu, kNoGroup, PERF_FLAG_FD_CLOEXEC);
  return fd >= 0 ? static_cast<int>(fd) : -errno;
}

PerfPower::PerfPower(const fs::path& root, const PerfOpener& open) {
  const fs::path pmu = root / "sys/bus/event_source/devices/power";
  std::error_code error;
  if (!fs::exists(pmu / "type", error)) {
    refuse("no energy events: " + pmu.string() + " is not there (usual in virtual machines and containers)",
           "nothing inside a virtual machine or container; on a machine of its own: sudo modprobe rapl");
    return;
  }
  if (!add_event(pmu, "energy-pkg", record::Covers::kPackage, open)) return;
  add_event(pmu, "energy-ram", record::Covers::kDram, open);
  add_event(pmu, "energy-psys", record::Covers::kMachine, open);
}

bool PerfPower::add_event(const fs::path& pmu, const std::string& event, record::Covers covers,
                          const PerfOpener& open) {
  const std::optional<std::uint64_t> type = read_count(pmu / "type");
  const auto config = event_config(read_first_line(pmu / "events" / event).value_or(""));
  const double scale = std::strtod(read_first_line(pmu / "events" / (event + ".scale")).value_or("").c_str(), nullptr);
  const std::vector<int> cpus = cpus_of(read_first_line(pmu / "cpumask").value_or("0"));
  if (!type || !config || !(scale > 0) || cpus.empty()) {
    if (covers == record::Covers::kPackage) refuse("no event " + event + " in " + pmu.string(), "");
    return false;
  }
  for (std::size_t package = 0; package < cpus.size(); ++package) {
    const std::string package_name = fmt::format("package-{}", package);
    const std::string name = covers == record::Covers::kPackage ? package_name
                             : covers == record::Covers::kDram  ? package_name + " dram"
                             : package == 0                     ? "psys"
                                                                : fmt::format("psys-{}", package);
    Descriptor counter(open(static_cast<std::uint32_t>(*type), *config, cpus[package]));
    if (!counter.valid()) {
      const int problem = counter.get() == -1 ? EPERM : -counter.get();
      const bool rights = problem == EACCES || problem == EPERM;
      const std::string why =
          fmt::format("{} to open the event {}: {}", rights ? kNoRight : "not possible", event, std::strerror(problem));
      if (covers == record::Covers::kPackage) {
        channels_.clear();
        counters_.clear();
        refuse(why, rights ? kPerfRemedy : "");
      } else {
        lacks_.push_back({name, covers, why});
      }
      return false;
    }
    channels_.push_back({.name = name,
                         .covers = covers,
                         .joules_per_count = scale,
                         .range = 0,  // the kernel adds the counter's turns up to 64 bits
                         .step_j = 61e-6,
                         .step_s = 0.001,
                         .most_watts = covers == record::Covers::kMachine ? kMostPsysWatts : kMostPackageWatts});
    counters_.push_back(std::move(counter));
  }
  return true;
}

std::vector<Reading> PerfPower::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (std::size_t n = 0; n < counters_.size(); ++n) {
    Reading& reading = readings.emplace_back();
    std::uint64_t count = 0;
    const ssize_t size = ::read(counters_[n].get(), &count, sizeof count);
    if (size == sizeof count) {
      reading.count = count;
    } else {
      reading.problem = "perf's counter of " + channels_[n].name + " could not be read any more";
    }
  }
  return readings;
}

AmdEnergy::AmdEnergy(const fs::path& root) {
  constexpr int kMostInputs = 1024;
  for (const fs::path& folder : sorted_folders(root / "sys/class/hwmon")) {
    if (read_first_line(folder / "name") != "amd_energy") continue;
    for (int n = 1; n <= kMostInputs; ++n) {
      const fs::path counter = folder / fmt::format("energy{}_input", n);
      if (!is_there(counter)) break;
      const std::string label = read_first_line(folder / fmt::format("energy{}_label", n)).value_or("");
      if (!label.starts_with("Esocket")) continue;  // a core, which is part of a socket
      if (!read_count(counter)) {
        lacks_.push_back(lack_of(label, record::Covers::kPackage, counter));
        continue;
      }
      counters_.push_back(counter);
      channels_.push_back({.name = fmt::format("package-{}", channels_.size()),
                           .covers = record::Covers::kPackage,
                           .joules_per_count = kMicro,
                           .range = 0,  // the driver handles the counter's wraps
                           .step_j = 15.3e-6,
                           .step_s = 0.001,
                           .note = "without DRAM, which AMD's counters don't have"});
    }
  }
  refuse_without_channels(kHwmonRemedy, "the driver amd_energy is not there",
                          "on an AMD processor without powercap: sudo modprobe amd_energy");
}

Hwmon::Hwmon(const fs::path& root) {
  int gpus = 0;
  for (const fs::path& folder : sorted_folders(root / "sys/class/hwmon")) {
    const std::string driver = read_first_line(folder / "name").value_or("");
    const bool gpu = driver == "amdgpu" || driver == "i915" || driver == "xe";
    if (!gpu && driver != "power_meter") continue;
    const std::string name = gpu ? fmt::format("{} {}", driver, gpus++) : "power meter (ACPI)";
    Channel channel{.name = name,
                    .covers = gpu ? record::Covers::kGpu : record::Covers::kMachine,
                    .step_s = 1,
                    .most_watts = gpu ? kMostCardWatts : kMostMachineWatts};
    fs::path unreadable;
    for (const char* file : {"energy1_input", "power1_average", "power1_input"}) {
      const fs::path value = folder / file;
      if (!is_there(value)) continue;
      if (!read_count(value)) {
        if (unreadable.empty()) unreadable = value;
        continue;
      }
      unreadable.clear();
      if (std::string_view(file).starts_with("energy")) {
        channel.joules_per_count = kMicro;
        channel.step_s = 0.1;
      } else {
        channel.note = "power, summed over time";
      }
      values_.push_back(value);
      powers_.push_back(channel.joules_per_count > 0 ? own_power(folder) : fs::path());
      channels_.push_back(channel);
      break;
    }
    if (!unreadable.empty()) lacks_.push_back(lack_of(name, channel.covers, unreadable));
  }
  refuse_without_channels(kHwmonRemedy, "no device with power or energy in " + (root / "sys/class/hwmon").string(), "");
}

std::vector<Reading> Hwmon::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (std::size_t n = 0; n < values_.size(); ++n) {
    Reading& reading = readings.emplace_back();
    const std::optional<std::uint64_t> value = read_count(values_[n]);
    if (!value) {
      reading.problem = not_read_any_more(values_[n]);
    } else if (channels_[n].joules_per_count > 0) {
      reading.count = value;
      const auto power_uw = powers_[n].empty() ? std::nullopt : read_count(powers_[n]);
      if (power_uw) reading.own_watts = static_cast<double>(*power_uw) * kMicro;
    } else {
      reading.watts = static_cast<double>(*value) * kMicro;
    }
  }
  return readings;
}

Battery::Battery(const fs::path& root) {
  for (const fs::path& folder : sorted_folders(root / "sys/class/power_supply")) {
    if (read_first_line(folder / "type") != "Battery") continue;
    if (read_first_line(folder / "scope") == "Device") continue;  // the battery of a mouse, say
    if (!is_there(folder / "power_now") && !is_there(folder / "current_now")) {
      lacks_.push_back(lack_of(folder.filename().string(), record::Covers::kMachine, folder / "power_now"));
      continue;
    }
    folders_.push_back(folder);
  }
  if (folders_.empty()) {
    refuse("no battery that tells its power", "");
    return;
  }
  if (std::ranges::none_of(
          folders_, [](const fs::path& folder) { return read_first_line(folder / "status") == "Discharging"; })) {
    folders_.clear();
    refuse("the battery does not discharge: on mains it doesn't see what the machine draws",
           "unplug the mains for the run, or use a meter at the socket with --meter");
    return;
  }
  channels_.push_back({.name = "battery",
                       .covers = record::Covers::kMachine,
                       .step_s = 1,
                       .most_watts = kMostMachineWatts,
                       .note = "power, summed over time"});
}

std::vector<Reading> Battery::read(double /*wait_s*/) {
  if (channels_.empty()) return {};
  Reading reading;
  double watts = 0;
  for (const fs::path& folder : folders_) {
    const std::string status = read_first_line(folder / "status").value_or("");
    if (status != "Discharging") {
      reading.problem = fmt::format("the battery did not discharge all the time (it said '{}')", status);
      return {reading};
    }
    if (const auto power_uw = read_count(folder / "power_now")) {
      watts += static_cast<double>(*power_uw) * kMicro;
      continue;
    }
    const auto current_ua = read_count(folder / "current_now"), voltage_uv = read_count(folder / "voltage_now");
    if (!current_ua || !voltage_uv) {
      reading.problem = not_read_any_more(folder / "current_now");
      return {reading};
    }
    watts += static_cast<double>(*current_ua) * kMicro * static_cast<double>(*voltage_uv) * kMicro;
  }
  reading.watts = watts;
  return {reading};
}

}  // namespace evener::measure
