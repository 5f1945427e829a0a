// Inside engine/native: the same kernels compiled once per instruction set (CMakeLists.txt).
#pragma once

#include "engine/native_mlp/kernels.h"

namespace evener::engine::native {

namespace baseline {
extern const Kernels table;
}
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
namespace avx512_bf16 {
extern const Kernels table;
}

}  // namespace evener::engine::native
