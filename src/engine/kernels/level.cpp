// All kernels for one instruction set. Compiled once per level, with EVENER_KERNEL_LEVEL naming it.
#include "engine/kernels/channels_last.h"
#include "engine/kernels/levels.h"
#include "engine/kernels/rows.h"
#include "engine/kernels/winograd_kernels.h"

namespace evener::engine::kernels {
namespace {

template <class T>
constexpr Kernels<T> table_of() {
  return {moments<T>,
          normalize<T>,
          gradient_sums<T>,
          input_gradient<T>,
          depthwise_forward<T>,
          depthwise_input_gradient<T>,
          depthwise_weight_gradient<T>};
}

}  // namespace

namespace EVENER_KERNEL_LEVEL {
constinit const LevelKernels level = {
    table_of<float>(),
    table_of<BFloat16>(),
    {winograd_kernels_of<FloatProducts, float>(), winograd_kernels_of<FloatProducts, BFloat16>()},
    {convolve_row, convolve_four_rows, transform_row_weights, max_pool_row},
    {{kProductPanel, 1, 1, pack_rows, multiply_rows}, row_product, row_squared_distance, places_not_below}};
}  // namespace EVENER_KERNEL_LEVEL

}  // namespace evener::engine::kernels
