// Powers that the user states for a machine without sensors. The resulting energy is an estimate and is called one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

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

}  // namespace evener::measure
