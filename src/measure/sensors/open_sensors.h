// Opens the machine's energy sensors and those that the user adds. Powers that the user states for a machine without
// sensors: the resulting energy is an estimate and is called one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/sensors/energy_sensor.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {

/// Stated powers in watts. The CPU draws `idle` plus a part that grows with its usage, up to `cpu`; without `idle` it
/// always draws `cpu`. A GPU draws `gpu` if the run computes on it, else `gpu_idle`.
struct AssumedPower {
  std::optional<double> cpu = {}, idle = {}, gpu = {}, gpu_idle = {};

  bool empty() const { return !cpu && !gpu && !gpu_idle; }
};

/// Reads "cpu=65W,idle=20W,gpu=150W,gpu-idle=25W" (the W may be left out). Throws UsageError.
AssumedPower parse_assumed_power(const std::string& text);

/// The sensor for the CPU's stated power; reads the usage from `root`/proc/stat.
class AssumedCpu final : public EnergySensor {
 public:
  /// `now_s`: the clock that power is integrated over.
  AssumedCpu(const AssumedPower& power, const std::filesystem::path& root, std::function<double()> now_s);

  std::string name() const override { return "--assume-power"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  const AssumedPower power_;
  const std::filesystem::path stat_;
  const std::function<double()> now_s_;
  std::optional<CpuTicks> last_;
  double last_s_ = 0, joules_ = 0;
};

/// The sensor for the GPUs' stated powers: `used` GPUs that the run computes on, and `idle` others.
class AssumedGpus final : public EnergySensor {
 public:
  AssumedGpus(const AssumedPower& power, int used, int idle);

  std::string name() const override { return "--assume-power"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<double> watts_;
};

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
  bool usable = false, is_partial = false;
  std::string text;    // what it covers, or why it can't be read
  std::string remedy;  // empty where nothing helps
};
std::vector<SensorState> sensor_states(const Sensors& sensors);

/// Why none of the sensors can be read: the first one that only lacks a permission, which the user can grant, else the
/// first refusal.
std::string sensors_refusal(const Sensors& sensors);

}  // namespace evener::measure
