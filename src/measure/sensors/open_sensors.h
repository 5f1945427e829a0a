// Opens the machine's energy sensors and those that the user adds.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "measure/sensors/assumed_power.h"
#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

struct EnergyOptions {
  AssumedPower assumed = {};
  std::vector<std::string> meters = {};  // of --meter; see parse_meter()
  int gpus_used = 0, gpus_idle = 0;      // numbers of GPUs for `assumed`
  double idle_s = 0;                     // seconds of idle power to measure before the run
  std::filesystem::path nvml = {};       // path of NVML; empty: the driver's own
};

/// Opens all sensors. Those that can't be read are in the result too, with the reason. Stops looking for CPU packages
/// once a sensor has them, so that they don't count twice. `root`: the folder of dev/, proc/ and sys/. Throws Error if
/// a meter that the user named doesn't answer.
Sensors open_sensors(const EnergyOptions& options, const std::filesystem::path& root,
                     const std::function<double()>& now_s);

/// A description of a sensor for the user.
struct SensorState {
  std::string name;
  bool usable = false;
  std::string text;    // what it covers, or why it can't be read
  std::string remedy;  // empty where nothing helps
};
std::vector<SensorState> sensor_states(const Sensors& sensors);

/// Why none of the sensors can be read: the first one that only lacks a permission, which the user can grant, else the
/// first refusal.
std::string sensors_refusal(const Sensors& sensors);

}  // namespace evener::measure
