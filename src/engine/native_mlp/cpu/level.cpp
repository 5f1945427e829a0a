// All kernels for one instruction set and precision. Compiled once per level, with EVENER_NATIVE_LEVEL naming it.
#if EVENER_NATIVE_PAIRS
#include "engine/native_mlp/cpu/bf16.h"
#else
#include "engine/native_mlp/cpu/fp32.h"
#endif

#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/loss.h"
#include "engine/native_mlp/cpu/products.h"

namespace evener::engine::native_mlp::EVENER_NATIVE_LEVEL {

constinit const MlpKernels table = {kUnitValues,
                                    kTileRows,
                                    pack_input,
                                    native_mlp::forward,
                                    native_mlp::loss,
                                    input_gradient,
                                    weight_gradient,
                                    transpose,
                                    kPairs ? round_weights : nullptr,
                                    update};

}  // namespace evener::engine::native_mlp::EVENER_NATIVE_LEVEL
