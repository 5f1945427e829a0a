// The sensors that a machine has, and what a user adds to them.
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
  int gpus_used = 0, gpus_idle = 0;      // that `assumed` stands for
  double idle_s = 0;                     // how long to measure before the run
  std::filesystem::path nvml = {};       // the library; empty: that of the driver
};

/// All sensors that were looked for, those that can't be read included, each with why. Sensors that would count the
/// packages again are not looked for. `root`: where dev/, proc/ and sys/ are. Throws Error for a meter that the user
/// named and that doesn't answer.
Sensors open_sensors(const EnergyOptions& options, const std::filesystem::path& root,
                     const std::function<double()>& now_s);

/// A sensor for people.
struct SensorState {
  std::string name;
  bool usable = false;
  std::string text;    // what it covers, or why it can't be read
  std::string remedy;  // empty where nothing helps
};
std::vector<SensorState> sensor_states(const Sensors& sensors);

/// Why none of them can be read. A right that is missing can be given; of other sensors the first one's refusal says
/// enough.
std::string sensors_refusal(const Sensors& sensors);

}  // namespace evener::measure
