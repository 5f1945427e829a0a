// The power limits of NVIDIA GPUs, by the driver's library NVML.
#pragma once

#include <filesystem>
#include <vector>

#include "measure/limits/hardware_limit.h"
#include "measure/limits/limit_options.h"

namespace evener::measure {

/// The power limit, in milliwatts, of each of `gpus`; absent: of all GPUs of the machine. `library`: as for NvmlSensor.
LimitSet find_gpu_limits(const std::filesystem::path& library, const std::optional<std::vector<LimitedGpu>>& gpus);

}  // namespace evener::measure
