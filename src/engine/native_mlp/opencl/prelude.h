// The prelude that makes the source text of device/kernels.h OpenCL C.
#pragma once

namespace evener::engine::native_mlp {

const char* opencl_prelude();

}  // namespace evener::engine::native_mlp
