// Declarations of https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html, by hand.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "placement/machine.h"

namespace evener::placement {
namespace {

namespace fs = std::filesystem;

constexpr int kLeastCudaVersion = 13000;
constexpr int kLeastCapability = 75;  // 7.5

// Declarations of https://docs.nvidia.com/cuda/cuda-driver-api, by hand.
constexpr int kSuccess = 0;
constexpr int kComputeMajor = 75, kComputeMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...

using Uuid = std::array<unsigned char, 16>;  // laid out as CUuuid

/// As NVML and nvidia-smi write it: "GPU-" and 32 hexadecimal digits in groups.
std::string uuid_text(const Uuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] / 16];
    text += kDigits[uuid[i] % 16];
  }
  return text;
}

template <typename Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// What the library tells; absent where it lacks a function.
std::optional<CudaDriver> told_by(void* library) {
  auto* const init = function_of<int(unsigned)>(library, "cuInit");
  auto* const error_name = function_of<int(int, const char**)>(library, "cuGetErrorName");
  auto* const version_of = function_of<int(int*)>(library, "cuDriverGetVersion");
  auto* const count_of = function_of<int(int*)>(library, "cuDeviceGetCount");
  auto* const get = function_of<int(int*, int)>(library, "cuDeviceGet");
  auto* const name_of = function_of<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* const memory_of = function_of<int(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
  auto* const attribute_of = function_of<int(int*, int, int)>(library, "cuDeviceGetAttribute");
  auto* const uuid_of = function_of<int(Uuid*, int)>(library, "cuDeviceGetUuid_v2");  // of CUDA 11.4 and newer
  if (!init || !error_name || !version_of || !count_of || !get || !name_of || !memory_of || !attribute_of) return {};
  CudaDriver driver;
  if (const int code = init(0); code != kSuccess) {
    const char* text = nullptr;
    const bool named = error_name(code, &text) == kSuccess && text;
    driver.init_error = named ? text : "error " + std::to_string(code);
    return driver;
  }
  if (int version = 0; version_of(&version) == kSuccess) driver.cuda_version = version;
  int count = 0;
  if (count_of(&count) != kSuccess) count = 0;
  for (int index = 0; index < count; ++index) {
    CudaDriver::Gpu& gpu = driver.gpus.emplace_back();
    int device = 0;
    if (get(&device, index) != kSuccess) continue;
    std::array<char, 256> name{};
    if (name_of(name.data(), static_cast<int>(name.size()) - 1, device) == kSuccess) gpu.name = name.data();
    std::size_t bytes = 0;
    if (memory_of(&bytes, device) == kSuccess) gpu.memory_bytes = bytes;
    attribute_of(&gpu.compute_major, kComputeMajor, device);
    attribute_of(&gpu.compute_minor, kComputeMinor, device);
    Uuid uuid{};
    if (uuid_of != nullptr && uuid_of(&uuid, device) == kSuccess) gpu.uuid = uuid_text(uuid);
  }
  return driver;
}

// "580.65.06" out of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ..."; "" if there is none.
std::string kernel_driver_version(const fs::path& root) {
  std::ifstream in(root / "proc/driver/nvidia/version");
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const bool looks_right = word.find('.') != std::string::npos &&
                             std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (looks_right) return word;
  }
  return "";
}

// Names of the GPUs that the kernel's driver knows, whether or not libcuda can use them.
std::vector<std::string> kernel_gpus(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", error)) {
    std::ifstream in(entry.path() / "information");
    std::string name = "NVIDIA GPU";
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("Model:")) continue;
      const auto begin = line.find_first_not_of(" \t", 6);
      if (begin != std::string::npos) name = line.substr(begin);
    }
    names.push_back(name);
  }
  return names;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string problem_of(const CudaDriver::Gpu& gpu, int cuda_version) {
  if (cuda_version < kLeastCudaVersion) {
    return "its driver knows CUDA " + cuda_version_text(cuda_version) +
           ", but 13.0 is needed: install driver 580 or newer";
  }
  if (gpu.compute_major * 10 + gpu.compute_minor < kLeastCapability) {
    return "its compute capability is " + std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) +
           ", but CUDA 13 needs 7.5 or more (Turing, 2018): use the CPU or OpenCL";
  }
  return "";
}

// Why no GPU can be used, according to the kernel and the driver library.
void explain_absence(AcceleratorList& list, bool library, const std::string& init_error, const fs::path& root) {
  const auto names = kernel_gpus(root);
  if (names.empty() && !library) {
    list.reason = "no NVIDIA driver is loaded";
    list.remedy = "if there is an NVIDIA GPU, install its driver (580 or newer)";
  } else if (!library) {
    list.reason = "the kernel knows " + names.front() + ", but libcuda.so.1 is not found";
    list.remedy = "install the driver's libraries; in a container, start it with GPU support (--gpus all)";
  } else if (!init_error.empty()) {
    list.reason = "libcuda.so.1 is there, but cuInit says " + init_error;
    list.remedy = init_error == "CUDA_ERROR_NO_DEVICE"
                      ? "no GPU is visible to this process: look at CUDA_VISIBLE_DEVICES and the job's allocation"
                      : "check that the kernel driver and its libraries have one version (nvidia-smi)";
  } else {
    list.reason = "the driver reports no GPU";
    list.remedy = "look at CUDA_VISIBLE_DEVICES and the job's allocation";
  }
}

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

std::optional<CudaDriver> ask_cuda_driver() {
  // The second name is the library's place under WSL2.
  for (const char* name : {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // never closed: drivers don't like to be unloaded
    if (!library) continue;
    if (const auto driver = told_by(library)) return driver;
  }
  return std::nullopt;
}

AcceleratorList find_cuda_gpus(const std::optional<CudaDriver>& driver, const fs::path& root) {
  AcceleratorList list;
  const std::string version = kernel_driver_version(root);
  if (!version.empty()) list.driver = "driver " + version;
  const std::string init_error = driver ? driver->init_error : "";
  if (driver && init_error.empty()) {
    list.driver =
        "CUDA " + cuda_version_text(driver->cuda_version) + (version.empty() ? "" : " (driver " + version + ")");
    for (const CudaDriver::Gpu& gpu : driver->gpus) {
      list.devices.push_back({{DeviceKind::kCuda, static_cast<int>(list.devices.size())},
                              gpu.name.empty() ? "NVIDIA GPU" : gpu.name,
                              gpu.memory_bytes,
                              gpu.compute_major,
                              gpu.compute_minor,
                              problem_of(gpu, driver->cuda_version),
                              gpu.uuid});
    }
  }
  if (list.devices.empty()) explain_absence(list, driver.has_value(), init_error, root);
  return list;
}

AcceleratorList find_opencl_devices() {
  AcceleratorList list;
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed, as CUDA's
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
