#include "measure/sensors/open_sensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/sensors/hwmon.h"
#include "measure/sensors/nvml.h"
#include "measure/sensors/outside_meter.h"
#include "measure/sensors/rapl.h"

namespace evener::measure {
namespace {

bool has_packages(const Sensors& sensors) {
  return std::ranges::any_of(sensors, [](const auto& sensor) {
    return std::ranges::any_of(sensor->channels(),
                               [](const Channel& channel) { return channel.covers == record::Covers::kPackage; });
  });
}

}  // namespace

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
  }
  return states;
}

std::string sensors_refusal(const Sensors& sensors) {
  std::string first;
  for (const auto& sensor : sensors) {
    if (sensor->refusal().starts_with("no right")) return sensor->refusal() + ": " + sensor->remedy();
    if (first.empty()) first = sensor->refusal();
  }
  if (first.empty()) return "no sensor of energy was asked for";
  return first + "; no other sensor either (evener doctor names them): --meter or --assume-power help";
}

}  // namespace evener::measure
