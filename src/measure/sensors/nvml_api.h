// The NVML functions in use, declared by hand: the driver's library is opened at run time, and its header isn't needed
// to build.
#pragma once

namespace evener::measure::nvml {

using Device = struct DeviceOfTheLibrary*;
using Result = int;

constexpr Result kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kDriverNotLoaded = 9, kGpuIsLost = 15;
constexpr int kClockSm = 1, kTemperatureGpu = 0;

struct Utilisation {
  unsigned int gpu, memory;  // percent of time in which something ran
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};

/// Bits of nvmlDeviceGetCurrentClocksThrottleReasons that mean that the card is slowed down.
constexpr unsigned long long kPowerCap = 0x4, kHardwareSlowdown = 0x8, kSoftwareHeat = 0x20, kHardwareHeat = 0x40,
                             kPowerBrake = 0x80;

struct Functions {
  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*device_count)(unsigned int*) = nullptr;
  Result (*handle_by_index)(unsigned int, Device*) = nullptr;
  Result (*name)(Device, char*, unsigned int) = nullptr;
  Result (*uuid)(Device, char*, unsigned int) = nullptr;          // "GPU-" and 32 hexadecimal digits in groups
  Result (*total_energy)(Device, unsigned long long*) = nullptr;  // mJ since the driver was loaded; Volta and newer
  Result (*power)(Device, unsigned int*) = nullptr;               // mW
  Result (*utilisation)(Device, Utilisation*) = nullptr;
  Result (*memory)(Device, Memory*) = nullptr;
  Result (*clock)(Device, int, unsigned int*) = nullptr;  // MHz
  Result (*temperature)(Device, int, unsigned int*) = nullptr;
  Result (*throttle_reasons)(Device, unsigned long long*) = nullptr;
  Result (*mig_mode)(Device, unsigned int*, unsigned int*) = nullptr;
};

}  // namespace evener::measure::nvml
