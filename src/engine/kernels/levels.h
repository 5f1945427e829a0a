// Inside engine/kernels: the same kernels compiled once per instruction set (src/CMakeLists.txt).
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/winograd.h"

namespace evener::engine::kernels {

namespace baseline {
extern const Kernels<float> float_table;
extern const Kernels<BFloat16> bfloat16_table;
extern const WinogradTable winograd_table;
extern const RowKernels row_table;
extern const ProductKernels product_table;
}  // namespace baseline
namespace avx2 {
extern const Kernels<float> float_table;
extern const Kernels<BFloat16> bfloat16_table;
extern const WinogradTable winograd_table;
extern const RowKernels row_table;
extern const ProductKernels product_table;
}  // namespace avx2
namespace avx512 {
extern const Kernels<float> float_table;
extern const Kernels<BFloat16> bfloat16_table;
extern const WinogradTable winograd_table;
extern const RowKernels row_table;
extern const ProductKernels product_table;
}  // namespace avx512
/// For processors with has_bfloat16_products() alone.
namespace avx512_bf16 {
extern const WinogradKernels<BFloat16> winograd_kernels;
}  // namespace avx512_bf16
/// For processors with has_bfloat16_tiles() alone.
namespace amx {
extern const PanelKernels<BFloat16> tile_table;
}  // namespace amx

}  // namespace evener::engine::kernels
