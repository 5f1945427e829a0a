// Made-up limits of processors below a folder that stands in for the machine's root.
#pragma once

#include <filesystem>
#include <string>

#include "base/cpu.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "measure/limits/limit_state.h"

namespace evener::test {

/// Two cpufreq policies of 800 to 3500 MHz, and a package whose limit is at most 95 W. "policy0" is of the first CPU
/// that this process may use, "policy7" of a CPU that no machine has.
class LimitsTree {
 public:
  LimitsTree() {
    policy("policy0", cpu_topology().allowed.front());
    policy("policy7", 1'000'000);
    const std::string zone = "sys/class/powercap/intel-rapl:0/";
    write_text(folder_ / (zone + "name"), "package-0\n");
    write_text(folder_ / (zone + "constraint_0_name"), "long_term\n");
    write_text(folder_ / (zone + "constraint_0_max_power_uw"), "95000000\n");
    write_text(folder_ / kPackage, "80000000\n");
  }

  void policy(const std::string& name, int cpu) const {
    const std::string files = "sys/devices/system/cpu/cpufreq/" + name + "/";
    write_text(folder_ / (files + "affected_cpus"), std::to_string(cpu) + " 999999\n");
    write_text(folder_ / (files + "cpuinfo_min_freq"), "800000\n");
    write_text(folder_ / (files + "cpuinfo_max_freq"), "3500000\n");
    write_text(frequency_file(name), "3400000\n");
  }
  std::filesystem::path frequency_file(const std::string& name = "policy0") const {
    return folder_ / ("sys/devices/system/cpu/cpufreq/" + name + "/scaling_max_freq");
  }
  std::filesystem::path power_file() const { return folder_ / kPackage; }
  std::filesystem::path state_file() const { return folder_ / "run/evener/limits.json"; }
  std::string frequency(const std::string& name = "policy0") const { return read_file(frequency_file(name)); }
  std::string power() const { return read_file(power_file()); }

  /// `nvml`: path of a library; by default there is none.
  measure::LimitPlaces places(const std::filesystem::path& nvml = "/nonexistent/libnvidia-ml.so.1") const {
    return {.root = folder_.path(), .state = folder_ / "run/evener", .nvml = nvml};
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  const std::string kPackage = "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw";
  TestFolder folder_;
};

}  // namespace evener::test
