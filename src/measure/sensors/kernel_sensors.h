// Sensors that are files of the kernel. The RAPL counters of processors: CPU packages, their DRAM, and psys (the whole
// machine). /sys/class/hwmon: AMD's energy counters of CPUs, GPUs of AMD and Intel, ACPI power meters. Batteries.
#pragma once

#include <filesystem>
#include <functional>

#include "base/descriptor.h"
#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// Counters that are a file each.
class CounterFiles : public EnergySensor {
 public:
  std::vector<Reading> read(double wait_s) override;

 protected:
  std::vector<std::filesystem::path> counters_;
};

/// The kernel's powercap files. Reads each package once. Leaves out core and uncore, which are parts of a package, and
/// intel-rapl-mmio, which repeats intel-rapl.
class Powercap final : public CounterFiles {
 public:
  /// Looks below `root`/sys/class/powercap.
  explicit Powercap(const std::filesystem::path& root);

  std::string name() const override { return "powercap"; }
};

/// Opens a PMU's counter on one CPU and returns a descriptor that gives 8 bytes per read, or the negated errno.
using PerfOpener = std::function<int(std::uint32_t type, std::uint64_t config, int cpu)>;
/// Calls perf_event_open for all processes on `cpu`.
int open_perf_event(std::uint32_t type, std::uint64_t config, int cpu);

/// The same through perf_event_open, for machines where powercap can't be read but perf is allowed.
class PerfPower final : public EnergySensor {
 public:
  /// Looks below `root`/sys/bus/event_source/devices/power.
  explicit PerfPower(const std::filesystem::path& root, const PerfOpener& open = open_perf_event);

  std::string name() const override { return "perf"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  bool add_event(const std::filesystem::path& pmu, const std::string& event, record::Covers covers,
                 const PerfOpener& open);

  std::vector<Descriptor> counters_;
};

/// The driver amd_energy. Reads the sockets only, since cores are parts of them; DRAM isn't covered.
class AmdEnergy final : public CounterFiles {
 public:
  explicit AmdEnergy(const std::filesystem::path& root);

  std::string name() const override { return "amd_energy"; }
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
