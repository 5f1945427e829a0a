// The limits of processors that Linux has: the highest frequency (cpufreq) and the power of packages (powercap).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "measure/limits/hardware_limit.h"

namespace evener::measure {

/// scaling_max_freq, in kHz, of each cpufreq policy that one of `cpus` (logical ones; absent: all) belongs to, below
/// `root`/sys/devices/system/cpu/cpufreq. CPUs that change their frequency together share a policy.
LimitSet find_frequency_limits(const std::filesystem::path& root, const std::optional<std::vector<int>>& cpus);

/// The long-term power limit, in microwatts, of each package below `root`/sys/class/powercap.
LimitSet find_package_limits(const std::filesystem::path& root);

}  // namespace evener::measure
