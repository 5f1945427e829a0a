// Activations on LibTorch.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "engine/kernels/kernels.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

at::Tensor activate(const at::Tensor& x, network::ActivationKind kind);
/// Applies the activation in place. SiLU, hard-sigmoid and hard-swish may only be used so in inference, since their
/// backward pass needs the input.
void activate_in_place(const at::Tensor& x, network::ActivationKind kind);
/// Whether the activation may overwrite its input in training, since its backward pass doesn't read it.
bool may_overwrite_in_training(network::ActivationKind kind);

/// The activation as a clamp: of ReLU and ReLU6 their bounds, of no activation infinite ones; nothing for other
/// activations.
std::optional<kernels::Clamp> clamp_of(std::optional<network::ActivationKind> kind);

}  // namespace evener::engine::torch_engine
