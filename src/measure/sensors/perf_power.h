// The same counters through perf_event_open: for where powercap can't be read but perf may.
#pragma once

#include <filesystem>
#include <functional>

#include "base/descriptor.h"
#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

/// Opens a counter of a PMU on one CPU and returns its descriptor, from which 8 bytes at a time are read; below zero:
/// the negated errno.
using PerfOpener = std::function<int(std::uint32_t type, std::uint64_t config, int cpu)>;
/// perf_event_open for all processes of that CPU.
int open_perf_event(std::uint32_t type, std::uint64_t config, int cpu);

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

}  // namespace evener::measure
