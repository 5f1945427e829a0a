// NVIDIA GPUs through the driver's library NVML, opened at run time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure::nvml {

// The functions in use, declared by hand: the driver's library is opened at run time, and its header isn't needed to
// build.

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

namespace evener::measure {

/// A started NVML, or why there is none.
class NvmlLibrary {
 public:
  /// `library`: path of the library; empty = $EVENER_NVML, or else the driver's libnvidia-ml.so.1.
  explicit NvmlLibrary(std::filesystem::path library);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// Why it can't be used, and what would help (may be empty); "" = it can be used.
  const std::string& refusal() const { return refusal_; }
  const std::string& remedy() const { return remedy_; }

  /// Those that are not needed by every use may be null, in old drivers.
  const nvml::Functions& call() const { return call_; }

  /// The value from `function`, if the library has it and the call succeeds.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> ask(Function function, Arguments... arguments) const {
    Value value{};
    if (function == nullptr || function(arguments..., &value) != nvml::kSuccess) return std::nullopt;
    return value;
  }

  /// The number of cards; 0 where it can't be used.
  unsigned int cards() const;
  /// The card's UUID; "" = it tells none.
  std::string uuid(nvml::Device device) const { return text(call_.uuid, device); }
  std::string name(nvml::Device device) const { return text(call_.name, device); }

 private:
  using TextOf = nvml::Result (*)(nvml::Device, char*, unsigned int);
  static std::string text(TextOf function, nvml::Device device);
  /// The name of a needed function that the library lacks; "" = it has all.
  std::string find_functions(void* opened);

  nvml::Functions call_;
  bool begun_ = false;
  std::string refusal_, remedy_;
};

/// The machine's number of the card that CUDA calls cuda:`index`; they differ if CUDA_VISIBLE_DEVICES shows only some
/// cards.
int card_of(int index);

class NvmlSensor final : public EnergySensor {
 public:
  /// `library`: path of the library; empty = $EVENER_NVML, or else the driver's libnvidia-ml.so.1.
  explicit NvmlSensor(std::filesystem::path library);

  std::string name() const override { return "nvml"; }
  /// Reads the card's energy counter if it has one (Volta and newer), else its power.
  std::vector<Reading> read(double wait_s) override;
  std::vector<DeviceState> states() override;

 private:
  struct Card {
    nvml::Device device = nullptr;
    bool counts = false;  // has an energy counter
  };
  void add_card(unsigned int index);

  const NvmlLibrary library_;
  std::vector<Card> cards_;
};

}  // namespace evener::measure
