// Powers that a user states, for machines without sensors: what comes of them is an estimate and called one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "measure/sensors/energy_sensor.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {

/// Watts. A processor draws `idle` and, in proportion to its use, up to `cpu`; without `idle` it draws `cpu` all the
/// time. A GPU draws `gpu` where the run computes on it, and `gpu_idle` where not.
struct AssumedPower {
  std::optional<double> cpu = {}, idle = {}, gpu = {}, gpu_idle = {};

  bool empty() const { return !cpu && !gpu && !gpu_idle; }
};

/// Reads "cpu=65W,idle=20W,gpu=150W,gpu-idle=25W" (the W may be left out). Throws UsageError.
AssumedPower parse_assumed_power(const std::string& text);

/// The processor's part of that: looks at `root`/proc/stat.
class AssumedCpu final : public EnergySensor {
 public:
  /// `now_s`: the clock that the power is summed over.
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

/// The graphics cards' part: so many of them are computed on, and so many are idle.
class AssumedGpus final : public EnergySensor {
 public:
  AssumedGpus(const AssumedPower& power, int used, int idle);

  std::string name() const override { return "--assume-power"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<double> watts_;
};

}  // namespace evener::measure
