// Values rounded to those that int8 kernels compute with, in training as in evaluation.
#pragma once

#include <ATen/ATen.h>

#include "network/network.h"
#include "network/quantization.h"

namespace evener::engine::torch_engine {

/// The result of a FakeQuantize layer: network::fake_quantized of each value of `x`, which keeps its type. `scale` (1)
/// in float32. Differentiable: values within the levels pass their gradient on as if they had not been rounded
/// (straight-through), and the scale learns how wide its steps should be (LSQ: Esser et al. 2020), its gradient times
/// 1 / sqrt(values of a sample * largest level), a sum over the samples like that of any parameter.
at::Tensor fake_quantize_activations(const at::Tensor& x, const at::Tensor& scale, bool is_signed);

/// The same for the `bits` of weights (O, ...), with a scale (O) for each output channel.
at::Tensor fake_quantize_weights(const at::Tensor& weight, const at::Tensor& scale, int bits);

}  // namespace evener::engine::torch_engine
