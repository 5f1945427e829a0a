// Sensors of /sys/class/hwmon: AMD's energy counters of CPUs, GPUs of AMD and Intel, ACPI power meters; also batteries.
#pragma once

#include <filesystem>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// The driver amd_energy. Reads the sockets only, since cores are parts of them; DRAM isn't covered.
class AmdEnergy final : public EnergySensor {
 public:
  explicit AmdEnergy(const std::filesystem::path& root);

  std::string name() const override { return "amd_energy"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> counters_;
};

/// Other drivers with energy counters (i915, xe) or power (amdgpu; power_meter, which covers the whole machine).
class Hwmon final : public EnergySensor {
 public:
  explicit Hwmon(const std::filesystem::path& root);

  std::string name() const override { return "hwmon"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> values_;
  std::vector<std::filesystem::path> powers_;  // of the same devices; empty where a counter has none beside it
};

/// A notebook's batteries: the machine's power, known only while they discharge.
class Battery final : public EnergySensor {
 public:
  explicit Battery(const std::filesystem::path& root);

  std::string name() const override { return "battery"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  std::vector<std::filesystem::path> folders_;
};

}  // namespace evener::measure
