// Activations on LibTorch.
#pragma once

#include <ATen/ATen.h>

#include <optional>

#include "engine/kernels/kernels.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

at::Tensor activate(const at::Tensor& x, network::ActivationKind kind);
/// In place. Those whose backward pass needs their input again (SiLU and the hard ones) are for inference alone.
void activate_in_place(const at::Tensor& x, network::ActivationKind kind);
/// Whether the backward pass does without the input.
bool may_overwrite_in_training(network::ActivationKind kind);

/// The clamp that ReLU and ReLU6 are, and for none one that is infinite at both ends; nothing for other activations.
std::optional<kernels::Clamp> clamp_of(std::optional<network::ActivationKind> kind);

}  // namespace evener::engine::torch_engine
