#include "measure/sensors/hwmon.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;
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
  return path.string() + " could not be read any more";
}

/// The file of a device's power beside its energy counter; empty if there is none that can be read.
fs::path own_power(const fs::path& folder) {
  for (const char* file : {"power1_average", "power1_input"}) {
    if (read_count(folder / file)) return folder / file;
  }
  return {};
}

}  // namespace

AmdEnergy::AmdEnergy(const fs::path& root) {
  constexpr int kMostInputs = 1024;
  std::string unreadable;
  for (const fs::path& folder : sorted_folders(root / "sys/class/hwmon")) {
    if (read_first_line(folder / "name") != "amd_energy") continue;
    for (int n = 1; n <= kMostInputs; ++n) {
      const fs::path counter = folder / fmt::format("energy{}_input", n);
      if (!is_there(counter)) break;
      const std::string label = read_first_line(folder / fmt::format("energy{}_label", n)).value_or("");
      if (!label.starts_with("Esocket")) continue;  // a core, which is part of a socket
      if (!read_count(counter)) {
        if (unreadable.empty()) unreadable = counter.string();
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
  refuse_without_channels(unreadable, kHwmonRemedy, "the driver amd_energy is not there",
                          "on an AMD processor without powercap: sudo modprobe amd_energy");
}

std::vector<Reading> AmdEnergy::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (const fs::path& counter : counters_) {
    Reading& reading = readings.emplace_back();
    reading.count = read_count(counter);
    if (!reading.count) reading.problem = not_read_any_more(counter);
  }
  return readings;
}

Hwmon::Hwmon(const fs::path& root) {
  std::string unreadable;
  int gpus = 0;
  for (const fs::path& folder : sorted_folders(root / "sys/class/hwmon")) {
    const std::string driver = read_first_line(folder / "name").value_or("");
    const bool gpu = driver == "amdgpu" || driver == "i915" || driver == "xe";
    if (!gpu && driver != "power_meter") continue;
    const std::string name = gpu ? fmt::format("{} {}", driver, gpus++) : "power meter (ACPI)";
    Channel channel{.name = name, .covers = gpu ? record::Covers::kGpu : record::Covers::kMachine, .step_s = 1};
    for (const char* file : {"energy1_input", "power1_average", "power1_input"}) {
      const fs::path value = folder / file;
      if (!is_there(value)) continue;
      if (!read_count(value)) {
        if (unreadable.empty()) unreadable = value.string();
        continue;
      }
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
  }
  refuse_without_channels(unreadable, kHwmonRemedy,
                          "no device with power or energy in " + (root / "sys/class/hwmon").string(), "");
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
    if (!is_there(folder / "power_now") && !is_there(folder / "current_now")) continue;
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
  channels_.push_back(
      {.name = "battery", .covers = record::Covers::kMachine, .step_s = 1, .note = "power, summed over time"});
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
