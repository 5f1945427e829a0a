// OpenCL devices through the loader library (libOpenCL.so.1), opened at run time and declared by hand.
#pragma once

#include "placement/machine.h"

namespace evener::placement {

/// All devices of all platforms, numbered in the order in which the loader lists them. Loads every vendor's OpenCL
/// driver, so call it only when the answer is needed.
AcceleratorList find_opencl_devices();

}  // namespace evener::placement
