// Which accelerators the engine computes on, and opening them.
#pragma once

#include <memory>
#include <string>

#include "base/device.h"
#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// Whether this engine has an accelerator module for the kind: it has for OpenCL devices and NVIDIA GPUs.
bool is_accelerator(DeviceKind kind);
/// Why the module for such devices can't be used; "" if it can. Whether the device exists is only found out by opening
/// it.
std::string accelerator_refusal(Device device);
/// Opens the device. Thread-safe. Throws Error.
std::unique_ptr<Accelerator> open_accelerator(Device device);

}  // namespace evener::engine::native_mlp
