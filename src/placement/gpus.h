// GPUs through the libraries of their drivers, opened at run time and declared by hand: no header of CUDA or OpenCL.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "placement/machine.h"

namespace evener::placement {

/// The calls of NVIDIA's driver library (libcuda.so.1) that discovery needs, as an interface so that tests can replace
/// the driver. No context is made, so nothing is allocated on the GPUs and child processes are free to use them.
class CudaDriver {
 public:
  virtual ~CudaDriver() = default;
  /// cuInit; "" or the driver's error text.
  virtual std::string init() = 0;
  /// 13000 for CUDA 13.0.
  virtual int cuda_version() = 0;
  virtual int device_count() = 0;
  struct Properties {
    std::string name;
    unsigned long long memory_bytes = 0;
    int compute_major = 0, compute_minor = 0;
    std::string uuid = {};  // "GPU-8e1f..."
  };
  virtual Properties properties(int index) = 0;
};

/// Opens libcuda.so.1; nullptr where there is none.
std::unique_ptr<CudaDriver> open_cuda_driver();

/// The GPUs known to `driver` (may be nullptr) and to /proc/driver/nvidia under `root`. Accelerator::problem says why a
/// GPU can't be used: builds for CUDA 13 need compute capability 7.5 and driver 580 or newer.
AcceleratorList find_cuda_gpus(CudaDriver* driver, const std::filesystem::path& root = "/");

/// The OpenCL devices of all platforms through the loader library (libOpenCL.so.1), numbered in the order in which the
/// loader lists them. Loads every vendor's OpenCL driver, so call it only when the answer is needed.
AcceleratorList find_opencl_devices();

}  // namespace evener::placement
