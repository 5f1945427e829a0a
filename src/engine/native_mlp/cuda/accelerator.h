// NVIDIA GPUs as accelerators, through the driver and NVRTC alone, both opened at run time: no toolkit is needed.
#pragma once

#include <memory>
#include <string>

#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// Why CUDA can't be used here; "" if its libraries are there. Doesn't initialise the driver: children of a process
/// that has done so can't use it.
std::string why_no_cuda();

/// The GPU of this number. Throws Error.
std::unique_ptr<Accelerator> open_cuda_device(int index);

}  // namespace evener::engine::native_mlp
