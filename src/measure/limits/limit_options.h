// The limits that a user asks for: a highest frequency of the CPUs, and powers that GPUs and CPU packages must not
// exceed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

/// Watts for each GPU of the run, and for each CPU package.
struct PowerLimits {
  std::optional<double> gpu = {}, cpu = {};
};

/// A GPU that the run computes on: its number as CUDA counts, and its UUID ("" = not known).
struct LimitedGpu {
  int index = 0;
  std::string uuid = {};
};

struct LimitOptions {
  std::optional<double> frequency_mhz = {};  // of all CPUs that this process may use
  PowerLimits power = {};
  std::vector<LimitedGpu> gpus = {};  // that power.gpu is for

  bool empty() const { return !frequency_mhz && !power.gpu && !power.cpu; }
};

/// Reads "2.0GHz", "2000MHz" or "2000000kHz" as MHz. Throws UsageError.
double parse_frequency_mhz(const std::string& text);
/// Reads "250W", which is of GPUs, "gpu=250W", "cpu=65W" or "gpu=250W+cpu=65W"; the W may be left out. No commas: they
/// stand between the values of a sweep. Throws UsageError.
PowerLimits parse_power_limits(const std::string& text);

}  // namespace evener::measure
