// Kernels compiled at run time by NVRTC.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/native_mlp/cuda/libraries.h"

namespace evener::engine::native_mlp {

struct CudaCode {
  /// CUBIN, which also a driver older than the compiler can load; or PTX, which the driver has to compile further.
  std::string image;
  bool is_ptx = false;
  std::string log;  // registers, spills and shared memory of each kernel
};

/// Compiles `source`, which follows CUDA's prelude, for a compute capability (90: 9.0): to CUBIN where NVRTC knows it,
/// otherwise to PTX of the newest capability below it. Results are cached for the life of the process. Thread-safe.
/// Throws Error with the compiler's log.
const CudaCode& compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                             const std::vector<std::pair<std::string, int>>& macros, int capability);

}  // namespace evener::engine::native_mlp
