// Which accelerators the engine computes on, and opening them.
#pragma once

#include <memory>
#include <string>

#include "base/device.h"
#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// OpenCL's devices and NVIDIA's GPUs are.
bool is_accelerator(DeviceKind kind);
/// Why the module for such devices can't be used; "" if it can. Whether there is the device shows when it is opened.
std::string accelerator_refusal(Device device);
/// Throws Error. Threads may call it at once.
std::unique_ptr<Accelerator> open_accelerator(Device device);

}  // namespace evener::engine::native_mlp
