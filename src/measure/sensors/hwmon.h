// Sensors of /sys/class/hwmon: AMD's energy counters of processors, graphics cards of AMD and Intel, ACPI power meters.
#pragma once

#include <filesystem>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// amd_energy: the sockets; its cores are parts of them, and it has no DRAM.
class AmdEnergy final : public EnergySensor {
 public:
  explicit AmdEnergy(const std::filesystem::path& root);

  std::string name() const override { return "amd_energy"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> counters_;
};

/// Other devices with energy counters (i915, xe) or power (amdgpu; power_meter, which covers the machine).
class Hwmon final : public EnergySensor {
 public:
  explicit Hwmon(const std::filesystem::path& root);

  std::string name() const override { return "hwmon"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> values_;
};

/// Batteries of notebooks: what the machine draws, but only while they discharge.
class Battery final : public EnergySensor {
 public:
  explicit Battery(const std::filesystem::path& root);

  std::string name() const override { return "battery"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> folders_;
};

}  // namespace evener::measure
