#include "base/device.h"

#include <algorithm>
#include <system_error>

#include "base/names.h"

namespace evener {
namespace {

constexpr const char* kDeviceKinds[] = {"cpu", "cuda", "opencl", "intel", "npu"};

}  // namespace

const char* device_kind_name(DeviceKind kind) {
  return name_in(kDeviceKinds, kind);
}

std::string device_text(Device device) {
  const std::string name = device_kind_name(device.kind);
  if (device.kind == DeviceKind::kCpu || device.kind == DeviceKind::kNpu) return name;  // there is but one of them
  return name + ":" + std::to_string(device.index);
}

bool shows_nvidia_driver(const std::filesystem::path& root) {
  constexpr const char* kFiles[] = {"dev/nvidiactl", "proc/driver/nvidia", "dev/dxg"};  // the last one is WSL2's
  return std::ranges::any_of(kFiles, [&](const char* file) {
    std::error_code ignored;
    return std::filesystem::exists(root / file, ignored);
  });
}

}  // namespace evener
