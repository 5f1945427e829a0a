// The same kernels compiled once per instruction set (CMakeLists.txt).
#pragma once

#include "engine/native_mlp/cpu/kernels.h"

namespace evener::engine::native_mlp {

namespace baseline {
extern const MlpKernels table;
}
namespace avx2 {
extern const MlpKernels table;
}
namespace avx512 {
extern const MlpKernels table;
}
namespace avx512_bf16 {
extern const MlpKernels table;
}

}  // namespace evener::engine::native_mlp
