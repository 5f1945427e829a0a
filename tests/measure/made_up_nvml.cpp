// A made-up libnvidia-ml.so.1: what its cards are stands in files of the folder that MADE_UP_NVML names, one value
// each, "gpu0/total_energy_mj" and the like. What has no file is not supported, and a folder that goes is a card that
// is lost.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "measure/sensors/nvml.h"

namespace {

using evener::measure::nvml::Device;
using evener::measure::nvml::Memory;
using evener::measure::nvml::Result;
using evener::measure::nvml::Utilisation;
using namespace evener::measure;

std::string folder() {
  const char* given = std::getenv("MADE_UP_NVML");
  return given != nullptr ? given : "";
}

bool read_value(const std::string& name, unsigned long long& value) {
  std::FILE* file = std::fopen((folder() + "/" + name).c_str(), "r");
  if (file == nullptr) return false;
  const bool good = std::fscanf(file, "%llu", &value) == 1;
  std::fclose(file);
  return good;
}

/// A device's handle is its number plus one.
std::string card_of(Device device) {
  return "gpu" + std::to_string(reinterpret_cast<std::size_t>(device) - 1) + "/";
}

template <typename Value>
Result give(Device device, const char* name, Value* target) {
  unsigned long long value = 0;
  if (read_value(card_of(device) + "lost", value)) return nvml::kGpuIsLost;
  if (!read_value(card_of(device) + name, value)) return nvml::kNotSupported;
  *target = static_cast<Value>(value);
  return nvml::kSuccess;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  unsigned long long refusal = 0;
  return read_value("init_result", refusal) ? static_cast<Result>(refusal) : nvml::kSuccess;
}
Result nvmlShutdown() {
  return nvml::kSuccess;
}
const char* nvmlErrorString(Result result) {
  return result == nvml::kGpuIsLost         ? "GPU is lost"
         : result == nvml::kDriverNotLoaded ? "Driver Not Loaded"
         : result == nvml::kNoPermission    ? "Insufficient Permissions"
                                            : "Not Supported";
}
Result nvmlDeviceGetCount_v2(unsigned int* count) {
  unsigned long long cards = 0;
  read_value("count", cards);
  *count = static_cast<unsigned int>(cards);
  return nvml::kSuccess;
}
Result nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
  return nvml::kSuccess;
}
Result nvmlDeviceGetName(Device /*device*/, char* name, unsigned int size) {
  std::snprintf(name, size, "Made-up GPU");
  return nvml::kSuccess;
}
Result nvmlDeviceGetUUID(Device device, char* uuid, unsigned int size) {
  unsigned long long number = 0;
  if (!read_value(card_of(device) + "uuid", number)) return nvml::kNotSupported;
  std::snprintf(uuid, size, "GPU-%08llx-0000-0000-0000-000000000000", number);
  return nvml::kSuccess;
}
Result nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  return give(device, "total_energy_mj", millijoules);
}
Result nvmlDeviceGetPowerUsage(Device device, unsigned int* milliwatts) {
  return give(device, "power_mw", milliwatts);
}
Result nvmlDeviceGetUtilizationRates(Device device, Utilisation* rates) {
  return give(device, "utilisation", &rates->gpu);
}
Result nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return give(device, "memory_used", &memory->used);
}
Result nvmlDeviceGetClockInfo(Device device, int /*type*/, unsigned int* mhz) {
  return give(device, "clock_mhz", mhz);
}
Result nvmlDeviceGetTemperature(Device device, int /*sensor*/, unsigned int* degrees) {
  return give(device, "temperature", degrees);
}
Result nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* bits) {
  return give(device, "throttle_reasons", bits);
}
Result nvmlDeviceGetMigMode(Device device, unsigned int* now, unsigned int* pending) {
  *pending = 0;
  return give(device, "mig", now);
}

}  // extern "C"
