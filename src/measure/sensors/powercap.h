// The kernel's powercap counters (RAPL): packages, their DRAM, and psys.
#pragma once

#include <filesystem>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// Each package once: core and uncore are parts of a package and left out, intel-rapl-mmio repeats intel-rapl. psys
/// covers the machine.
class Powercap final : public EnergySensor {
 public:
  /// Looks below `root`/sys/class/powercap.
  explicit Powercap(const std::filesystem::path& root);

  std::string name() const override { return "powercap"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> counters_;
};

}  // namespace evener::measure
