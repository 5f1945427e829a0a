#include "measure/sensors/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace evener::measure {
namespace {

constexpr const char* kDriversLibrary = "libnvidia-ml.so.1";

}  // namespace

NvmlLibrary::NvmlLibrary(std::filesystem::path library) {
  if (library.empty()) {
    const char* given = std::getenv("EVENER_NVML");
    library = given != nullptr && *given != '\0' ? given : kDriversLibrary;
  }
  // Never closed: drivers' libraries don't like to be unloaded.
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    refusal_ = fmt::format("{} (NVML) is not found", library.string());
    remedy_ = "with an NVIDIA GPU: install the driver's libraries; in a container ask for the 'utility' capability";
    return;
  }
  if (const std::string missing = find_functions(opened); !missing.empty()) {
    refusal_ = fmt::format("{} has no {}", library.string(), missing);
    remedy_ = "install a newer driver";
    return;
  }
  const nvml::Result begun = call_.init();
  if (begun != nvml::kSuccess) {
    refusal_ = fmt::format("NVML can't be started: {}", call_.error_string(begun));
    remedy_ = begun == nvml::kDriverNotLoaded ? "load the driver: sudo modprobe nvidia"
              : begun == nvml::kNoPermission  ? "give this user the right to use /dev/nvidiactl"
                                              : "";
    return;
  }
  begun_ = true;
}

NvmlLibrary::~NvmlLibrary() {
  if (begun_) call_.shutdown();
}

std::string NvmlLibrary::find_functions(void* opened) {
  std::string missing;
  const auto find = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    if (needed && function == nullptr && missing.empty()) missing = name;
  };
  find(call_.init, "nvmlInit_v2", true);
  find(call_.shutdown, "nvmlShutdown", true);
  find(call_.error_string, "nvmlErrorString", true);
  find(call_.device_count, "nvmlDeviceGetCount_v2", true);
  find(call_.handle_by_index, "nvmlDeviceGetHandleByIndex_v2", true);
  find(call_.name, "nvmlDeviceGetName", false);
  find(call_.uuid, "nvmlDeviceGetUUID", false);
  find(call_.total_energy, "nvmlDeviceGetTotalEnergyConsumption", false);
  find(call_.power, "nvmlDeviceGetPowerUsage", false);
  find(call_.utilisation, "nvmlDeviceGetUtilizationRates", false);
  find(call_.memory, "nvmlDeviceGetMemoryInfo", false);
  find(call_.clock, "nvmlDeviceGetClockInfo", false);
  find(call_.temperature, "nvmlDeviceGetTemperature", false);
  find(call_.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", false);
  find(call_.mig_mode, "nvmlDeviceGetMigMode", false);
  return missing;
}

unsigned int NvmlLibrary::cards() const {
  return begun_ ? ask<unsigned int>(call_.device_count).value_or(0) : 0;
}

std::string NvmlLibrary::uuid(nvml::Device device) const {
  std::array<char, 96> text{};
  if (call_.uuid != nullptr) call_.uuid(device, text.data(), text.size() - 1);
  return text.data();
}

std::string NvmlLibrary::name(nvml::Device device) const {
  std::array<char, 96> text{};
  if (call_.name != nullptr) call_.name(device, text.data(), text.size() - 1);
  return text.data();
}

int card_of(int index) {
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  if (shown == nullptr) return index;
  const std::string list = shown;
  std::size_t begin = 0;
  for (int n = 0; begin < list.size(); ++n) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (n == index) return is_number ? std::atoi(word.c_str()) : index;
    begin = end + 1;
  }
  return index;
}

}  // namespace evener::measure
