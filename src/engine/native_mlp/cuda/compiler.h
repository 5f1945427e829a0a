// Kernels compiled at run time by NVRTC.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/native_mlp/cuda/libraries.h"

namespace evener::engine::native_mlp {

struct CudaCode {
  /// CUBIN, which a driver loads that is older than the compiler; or PTX, which the driver compiles on.
  std::string image;
  bool is_ptx = false;
  std::string log;  // registers, spills and shared memory of each kernel
};

/// The text after CUDA's prelude for GPUs of this compute capability (90: 9.0): as CUBIN where NVRTC knows it, else as
/// PTX of the newest one before it. What was compiled once in a process isn't compiled again. Threads may call it at
/// once. Throws Error with what the compiler says.
const CudaCode& compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                             const std::vector<std::pair<std::string, int>>& macros, int capability);

}  // namespace evener::engine::native_mlp
