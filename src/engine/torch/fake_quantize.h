// Fake quantisation: rounds values to those that int8 kernels can represent, in training and in evaluation.
#pragma once

#include <ATen/ATen.h>

#include "network/network.h"
#include "network/quantization.h"

namespace evener::engine::torch_engine {

/// The result of a FakeQuantize layer: network::fake_quantized of each value of `x`, which keeps its type. `scale` (1)
/// in float32. Differentiable: values within the levels pass their gradient on as if they had not been rounded
/// (straight-through estimator), and the scale has the gradient of LSQ (Esser et al. 2020), multiplied by 1 /
/// sqrt(values of a sample * largest level) and summed over the samples like that of any parameter.
at::Tensor fake_quantize_activations(const at::Tensor& x, const at::Tensor& scale, bool is_signed);

/// The same for weights (O, ...) with `bits` bits, and a scale (O) for each output channel.
at::Tensor fake_quantize_weights(const at::Tensor& weight, const at::Tensor& scale, int bits);

}  // namespace evener::engine::torch_engine
