// The CPU, GPUs and other accelerators of a machine, found without any vendor library at build time. For whatever is
// missing there is a reason.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/device.h"
#include "placement/placement.h"

namespace evener::placement {

struct Accelerator {
  Device device;
  std::string name;                          // "NVIDIA H200"
  unsigned long long memory_bytes = 0;       // 0 = not known
  int compute_major = 0, compute_minor = 0;  // CUDA compute capability; 0.0 = not known
  std::string problem;                       // why it can't be used although it is there ("" = it can)
  std::string uuid = {};                     // "GPU-8e1f...", as the driver's tools name it; "" = not known
};

/// The devices of one kind, in the order of their numbers.
struct AcceleratorList {
  std::vector<Accelerator> devices;
  std::string driver;  // "CUDA 13.0 (driver 580.65.06)"; "" = not known
  std::string reason;  // why the list is empty
  std::string remedy;  // what to do about it
};

struct Machine {
  std::string host;
  CpuTopology cpu;
  int cores = 1;  // usable by this process: usable_cores()
  MemoryLimits memory;
  AcceleratorList cuda, opencl, intel, npu;

  /// The list for a device kind other than kCpu.
  const AcceleratorList& accelerators(DeviceKind kind) const;
};

/// This machine with all its devices. Looks once and keeps the result; the first call takes up to a second where there
/// is a GPU driver.
const Machine& machine();
/// This machine with only the kinds of devices that `placement` uses, so that a job on the CPU spends no time on
/// looking for GPUs. The lists of the other kinds say in `reason` that nobody looked.
Machine machine_for(const Placement& placement);

/// A question for ask_program(): the asked process answers with accelerators_message("cuda") or ("opencl"), the devices
/// that this driver finds there. A process of its own is asked because a driver that was used can't be used in forked
/// children any more.
inline constexpr const char* kAcceleratorsQuestion = "accelerators";
std::string accelerators_message(const std::string& drivers);

/// What NVIDIA's driver library (libcuda.so.1) tells. No context is made, so nothing is allocated on the GPUs and child
/// processes are free to use them.
struct CudaDriver {
  struct Gpu {
    std::string name;
    unsigned long long memory_bytes = 0;
    int compute_major = 0, compute_minor = 0;
    std::string uuid = {};  // "GPU-8e1f..."
  };
  std::string init_error = {};  // the driver's error text; "" = it can be used
  int cuda_version = 0;         // 13000 for CUDA 13.0
  std::vector<Gpu> gpus = {};
};

/// Asks libcuda.so.1; absent where there is none.
std::optional<CudaDriver> ask_cuda_driver();

/// The GPUs known to `driver` and to /proc/driver/nvidia under `root`. Accelerator::problem says why a GPU can't be
/// used: builds for CUDA 13 need compute capability 7.5 and driver 580 or newer.
AcceleratorList find_cuda_gpus(const std::optional<CudaDriver>& driver, const std::filesystem::path& root = "/");

/// The OpenCL devices of all platforms through the loader library (libOpenCL.so.1), numbered in the order in which the
/// loader lists them. Loads every vendor's OpenCL driver, so call it only when the answer is needed.
AcceleratorList find_opencl_devices();

/// Intel GPUs (render nodes of vendor 0x8086) and NPUs (/dev/accel) under `root`; another root than "/" is for tests.
AcceleratorList find_intel_gpus(const std::filesystem::path& root = "/");
AcceleratorList find_npus(const std::filesystem::path& root = "/");

/// The number of a hybrid CPU's fastest cores. Work is cut into equal pieces, so these cores alone may be faster than
/// together with slower ones, for which they would have to wait. Absent if a job has no other cores anyway, because all
/// are alike or a quota allows no more.
inline std::optional<int> fastest_cores(const Machine& machine) {
  if (machine.cpu.kinds.empty() || machine.cpu.kinds.front().cores >= machine.cores) return std::nullopt;
  return machine.cpu.kinds.front().cores;
}

}  // namespace evener::placement
