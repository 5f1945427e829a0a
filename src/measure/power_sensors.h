// Energy of the processor packages and their DRAM from the kernel's powercap counters.
// GPUs (NVML) and perf counters are not read yet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

/// What an energy figure is, or why there is none.
struct Energy {
  struct Domain {
    std::string name;  // "package-0", "package-0 dram"
    double joules = 0;
  };
  std::optional<double> joules;   // whole machine's packages and DRAM, idle power included
  std::optional<double> edp_js;   // energy-delay product: joules x seconds of the same window
  std::optional<double> seconds;  // length of the window
  std::string source;             // "powercap (measured): package-0, package-0 dram"
  std::string reason;             // why joules is absent; empty otherwise
  std::vector<Domain> domains;
};

/// Counters of the package and DRAM domains, each package once: core and uncore are parts of a package, psys contains
/// the packages, and intel-rapl-mmio repeats intel-rapl, so these are left out.
class PowercapSensor {
 public:
  /// Looks below `root`/sys/class/powercap. Never throws; see refusal().
  explicit PowercapSensor(const std::filesystem::path& root = "/");

  /// Why nothing can be read, with what to do about it; empty = usable.
  const std::string& refusal() const { return refusal_; }

  /// Reads the counters and adds what was used since the last call; the first call sets the zero. Must be called more
  /// often than a counter wraps (at 200 W about every 20 minutes; the sampler does so every 20 seconds).
  void update();
  /// Energy between the first and the last update(). Windows under one second are refused.
  Energy energy(double window_s) const;

 private:
  struct Zone {
    std::string name;
    std::filesystem::path counter;
    std::uint64_t range_uj = 0;
    std::optional<std::uint64_t> last_uj;
    std::uint64_t used_uj = 0;
  };
  std::vector<Zone> zones_;
  std::string refusal_;
};

}  // namespace evener::measure
