// Kernels compiled at run time by NVRTC.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/native_mlp/cuda/libraries.h"

namespace evener::engine::native_mlp {

/// The text after CUDA's prelude as PTX for GPUs of this compute capability (90: 9.0) and newer ones. Throws Error with
/// what the compiler says.
std::string compile_cuda(const NvrtcCalls& nvrtc, const std::string& source,
                         const std::vector<std::pair<std::string, int>>& macros, int capability);

}  // namespace evener::engine::native_mlp
