// Inside engine/kernels: the same kernels compiled once per instruction set (src/CMakeLists.txt).
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/winograd.h"

namespace evener::engine::kernels {

struct LevelKernels {
  Kernels<float> fp32;
  Kernels<BFloat16> bf16;
  WinogradTable winograd;
  RowKernels rows;
  ProductKernels products;
};

namespace baseline {
extern const LevelKernels level;
}
namespace avx2 {
extern const LevelKernels level;
}
namespace avx512 {
extern const LevelKernels level;
}
/// For processors with has_bfloat16_products() alone.
namespace avx512_bf16 {
extern const WinogradKernels<BFloat16> winograd_kernels;
}
/// For processors with has_bfloat16_tiles() alone.
namespace amx {
extern const PanelKernels<BFloat16> tile_table;
}

}  // namespace evener::engine::kernels
