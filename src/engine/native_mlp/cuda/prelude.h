// The prelude that makes the source text of device/kernels.h CUDA C++.
#pragma once

namespace evener::engine::native_mlp {

const char* cuda_prelude();

}  // namespace evener::engine::native_mlp
