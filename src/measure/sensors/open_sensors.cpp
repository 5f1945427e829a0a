#include "measure/sensors/open_sensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors/nvml.h"
#include "measure/sensors/outside_meter.h"

namespace evener::measure {
namespace {

bool has_packages(const Sensors& sensors) {
  return std::ranges::any_of(sensors, [](const auto& sensor) {
    return std::ranges::any_of(sensor->channels(),
                               [](const Channel& channel) { return channel.covers == record::Covers::kPackage; });
  });
}

constexpr double kCountsPerJoule = 1e6;
constexpr double kTick_s = 0.01;  // resolution of the kernel's CPU times
constexpr double kMostStatedWatts = 1e6;

double stated_watts(const std::string& word) {
  std::string_view text = word;
  if (text.ends_with("W") || text.ends_with("w")) text.remove_suffix(1);
  const double watts = to_number<double>(text).value_or(-1);
  if (!(watts >= 0) || watts > kMostStatedWatts) {
    throw UsageError(fmt::format("--assume-power: {} is no power in watts, such as 65W", quoted_text(word)));
  }
  return watts;
}

}  // namespace

AssumedPower parse_assumed_power(const std::string& text) {
  AssumedPower power;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string name(trimmed(part.substr(0, equals)));
    std::optional<double>* const target = name == "cpu"        ? &power.cpu
                                          : name == "idle"     ? &power.idle
                                          : name == "gpu"      ? &power.gpu
                                          : name == "gpu-idle" ? &power.gpu_idle
                                                               : nullptr;
    if (target == nullptr || equals == std::string::npos) {
      throw UsageError(fmt::format("--assume-power {}: {} is not NAME=WATTS with a name of cpu, idle, gpu, gpu-idle",
                                   quoted_text(text), quoted_text(part)));
    }
    *target = stated_watts(std::string(trimmed(part.substr(equals + 1))));
    begin = end + 1;
  }
  if (power.idle && !power.cpu) throw UsageError("--assume-power: idle=WATTS is the processor's; give cpu=WATTS too");
  if (power.idle && *power.idle > *power.cpu) {
    throw UsageError(fmt::format("--assume-power: the processor can't draw more idle ({:g} W) than busy ({:g} W)",
                                 *power.idle, *power.cpu));
  }
  return power;
}

AssumedCpu::AssumedCpu(const AssumedPower& power, const std::filesystem::path& root, std::function<double()> now_s)
    : power_(power), stat_(root / "proc/stat"), now_s_(std::move(now_s)) {
  if (!power_.cpu) return;
  channels_.push_back({.name = "cpu (stated)",
                       .covers = record::Covers::kPackage,
                       .kind = record::EnergyClass::kEstimated,
                       .joules_per_count = 1 / kCountsPerJoule,
                       .step_s = power_.idle ? kTick_s : 0,
                       .note = power_.idle ? fmt::format("{:g} W idle to {:g} W busy, by the use of the CPUs",
                                                         *power_.idle, *power_.cpu)
                                           : fmt::format("{:g} W all the time", *power_.cpu)});
}

std::vector<Reading> AssumedCpu::read(double /*wait_s*/) {
  if (channels_.empty()) return {};
  const double now = now_s_();
  if (last_s_ == 0) last_s_ = now;
  double busy_share = 1;
  if (power_.idle) {
    const auto text = read_small_file(stat_);
    const std::vector<CpuTicks> lines = text ? parse_stat(*text) : std::vector<CpuTicks>();
    if (lines.empty()) return {{.problem = stat_.string() + " could not be read, which tells the use of the CPUs"}};
    const CpuTicks& all = lines.front();
    const CpuTicks before = last_.value_or(all);
    const double busy = static_cast<double>(all.busy) - static_cast<double>(before.busy);
    const double rest = static_cast<double>(all.idle + all.steal) - static_cast<double>(before.idle + before.steal);
    // Within a tick the kernel's counters don't change, so this interval is left to the next reading.
    if (busy + rest <= 0 && last_)
      return {{.count = static_cast<std::uint64_t>(std::llround(joules_ * kCountsPerJoule))}};
    busy_share = busy + rest > 0 ? std::clamp(busy / (busy + rest), 0.0, 1.0) : 0;
    last_ = all;
  }
  const double idle = power_.idle.value_or(*power_.cpu);
  joules_ += (idle + (*power_.cpu - idle) * busy_share) * (now - last_s_);
  last_s_ = now;
  return {{.count = static_cast<std::uint64_t>(std::llround(joules_ * kCountsPerJoule))}};
}

AssumedGpus::AssumedGpus(const AssumedPower& power, int used, int idle) {
  const auto add = [&](const std::optional<double>& watts, int count, const char* state) {
    if (!watts) return;
    for (int n = 0; n < count; ++n) {
      channels_.push_back({.name = fmt::format("{} {} (stated)", state, n),
                           .covers = record::Covers::kGpu,
                           .kind = record::EnergyClass::kEstimated,
                           .note = fmt::format("{:g} W all the time", *watts)});
      watts_.push_back(*watts);
    }
  };
  add(power.gpu, used, "gpu");
  add(power.gpu_idle, idle, "idle gpu");
}

std::vector<Reading> AssumedGpus::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (const double watts : watts_) readings.push_back({.watts = watts});
  return readings;
}

Sensors open_sensors(const EnergyOptions& options, const std::filesystem::path& root,
                     const std::function<double()>& now_s) {
  Sensors sensors;
  sensors.push_back(std::make_unique<Powercap>(root));
  if (!has_packages(sensors)) sensors.push_back(std::make_unique<PerfPower>(root));
  if (!has_packages(sensors)) sensors.push_back(std::make_unique<AmdEnergy>(root));
  sensors.push_back(std::make_unique<NvmlSensor>(options.nvml));
  // Sensors of the whole machine, of which the first is used: the user's own meters precede built-in ones.
  for (std::size_t n = 0; n < options.meters.size(); ++n) {
    sensors.push_back(open_meter(options.meters[n], n == 0 ? "meter" : fmt::format("meter {}", n + 1)));
  }
  sensors.push_back(std::make_unique<Hwmon>(root));
  sensors.push_back(open_ipmi(root));
  sensors.push_back(std::make_unique<Battery>(root));
  if (!options.assumed.empty()) {
    sensors.push_back(std::make_unique<AssumedCpu>(options.assumed, root, now_s));
    sensors.push_back(std::make_unique<AssumedGpus>(options.assumed, options.gpus_used, options.gpus_idle));
  }
  return sensors;
}

std::vector<SensorState> sensor_states(const Sensors& sensors) {
  std::vector<SensorState> states;
  for (const auto& sensor : sensors) {
    SensorState& state = states.emplace_back();
    state.name = sensor->name();
    state.usable = sensor->refusal().empty();
    state.text = sensor->refusal();
    state.remedy = sensor->remedy();
    for (const Channel& channel : sensor->channels()) {
      state.text += (state.text.empty() ? "" : ", ") + channel.name;
      if (!channel.note.empty()) state.text += " (" + channel.note + ")";
    }
    for (const Lack& lack : state.usable ? sensor->lacks() : std::vector<Lack>()) {
      state.is_partial = true;
      state.text += fmt::format("; without {} ({})", lack.part, lack.why);
    }
  }
  return states;
}

std::string sensors_refusal(const Sensors& sensors) {
  std::string first;
  for (const auto& sensor : sensors) {
    if (sensor->refusal().starts_with(kNoRight)) return sensor->refusal() + ": " + sensor->remedy();
    if (first.empty()) first = sensor->refusal();
  }
  if (first.empty()) return "no sensor of energy was asked for";
  return first + "; no other sensor either (evener doctor names them): --meter or --assume-power help";
}

}  // namespace evener::measure
