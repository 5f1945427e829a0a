// OpenCL devices (1.2 or newer) as accelerators.
#pragma once

#include <memory>

#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// The device of this number, all platforms' counted in the loader's order. Throws Error.
std::unique_ptr<Accelerator> open_opencl_device(int index);

}  // namespace evener::engine::native_mlp
