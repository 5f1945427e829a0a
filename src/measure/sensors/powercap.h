// The kernel's powercap counters (RAPL): CPU packages, their DRAM, and psys (the whole machine).
#pragma once

#include <filesystem>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// Reads each package once. Leaves out core and uncore, which are parts of a package, and intel-rapl-mmio, which
/// repeats intel-rapl.
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
