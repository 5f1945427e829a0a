// Declarations of https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html, by hand.
#include "placement/opencl_loader.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>

namespace evener::placement {
namespace {

constexpr std::uint64_t kAllDevices = 0xFFFFFFFF;  // CL_DEVICE_TYPE_ALL
constexpr std::uint32_t kDeviceName = 0x102B, kDeviceMemory = 0x101F;
constexpr std::uint32_t kMostFound = 64;

using PlatformIds = std::int32_t (*)(std::uint32_t, void**, std::uint32_t*);
using DeviceIds = std::int32_t (*)(void*, std::uint64_t, std::uint32_t, void**, std::uint32_t*);
using DeviceInfo = std::int32_t (*)(void*, std::uint32_t, std::size_t, void*, std::size_t*);

Accelerator describe(DeviceInfo info, void* device, int index) {
  Accelerator result;
  result.device = {DeviceKind::kOpencl, index};
  std::array<char, 256> name{};
  result.name = info(device, kDeviceName, name.size() - 1, name.data(), nullptr) == 0 ? name.data() : "OpenCL device";
  std::uint64_t bytes = 0;
  if (info(device, kDeviceMemory, sizeof bytes, &bytes, nullptr) == 0) result.memory_bytes = bytes;
  return result;
}

}  // namespace

AcceleratorList find_opencl_devices() {
  AcceleratorList list;
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers don't like to be unloaded
  const auto platform_ids = library ? reinterpret_cast<PlatformIds>(dlsym(library, "clGetPlatformIDs")) : nullptr;
  const auto device_ids = library ? reinterpret_cast<DeviceIds>(dlsym(library, "clGetDeviceIDs")) : nullptr;
  const auto info = library ? reinterpret_cast<DeviceInfo>(dlsym(library, "clGetDeviceInfo")) : nullptr;
  if (!platform_ids || !device_ids || !info) {
    list.reason = "libOpenCL.so.1 is not found";
    list.remedy = "install the loader (Debian: ocl-icd-libopencl1) and your vendor's OpenCL driver";
    return list;
  }
  std::array<void*, kMostFound> platforms{};
  std::uint32_t platform_count = 0;
  if (platform_ids(kMostFound, platforms.data(), &platform_count) != 0) platform_count = 0;
  for (std::uint32_t p = 0; p < platform_count && p < kMostFound; ++p) {
    std::array<void*, kMostFound> devices{};
    std::uint32_t device_count = 0;
    if (device_ids(platforms[p], kAllDevices, kMostFound, devices.data(), &device_count) != 0) continue;
    for (std::uint32_t d = 0; d < device_count && d < kMostFound; ++d) {
      list.devices.push_back(describe(info, devices[d], static_cast<int>(list.devices.size())));
    }
  }
  if (list.devices.empty()) {
    list.reason = "the OpenCL loader is there, but no driver offers a device";
    list.remedy = "install your vendor's OpenCL driver, or pocl-opencl-icd for the CPU";
  }
  return list;
}

}  // namespace evener::placement
