#include "engine/native_mlp/device/accelerator.h"

#include <map>
#include <mutex>

#include "base/module.h"

namespace evener::engine::native_mlp {
namespace {

const char* module_name(DeviceKind kind) {
  if (kind == DeviceKind::kOpencl) return "native_opencl";
  return kind == DeviceKind::kCuda ? "native_cuda" : nullptr;
}

/// What building the missing module would have needed.
std::string needs_of(DeviceKind kind) {
  if (kind == DeviceKind::kOpencl) {
    return "; it is built where the packages opencl-headers and ocl-icd-opencl-dev are installed";
  }
  return "; './evener --with-cuda setup' fetches CUDA's libraries and builds it";
}

}  // namespace

bool is_accelerator(DeviceKind kind) {
  return module_name(kind) != nullptr;
}

std::string accelerator_refusal(Device device) {
  const char* module = module_name(device.kind);
  if (module == nullptr) {
    return "the native engine computes on cpu, opencl:K and cuda:K, not on " + device_text(device);
  }
  const ModuleStatus status = module_status(module);
  if (status.state == ModuleState::kUsable) return "";
  std::string text = "the native engine can't compute on " + device_text(device) + ": the module '" + module +
                     "' can't be used: " + status.reason + "; " + status.remedy;
  if (status.state == ModuleState::kNotBuilt) text += needs_of(device.kind);
  return text;
}

std::unique_ptr<Accelerator> open_accelerator(Device device) {
  static std::mutex mutex;  // replicas may be threads
  static std::map<DeviceKind, std::unique_ptr<AcceleratorDriver>> drivers;
  const std::lock_guard lock(mutex);
  auto& driver = drivers[device.kind];
  if (!driver) driver.reset(static_cast<AcceleratorDriver*>(require_module(module_name(device.kind)).create()));
  return driver->open(device.index);
}

}  // namespace evener::engine::native_mlp
