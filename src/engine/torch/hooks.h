// Hooks of autograd before and after the accumulation of a parameter's gradient.
#pragma once

#include <torch/csrc/autograd/function_hook.h>

#include <functional>
#include <memory>

namespace evener::engine::torch_engine {

/// A hook that replaces the gradient about to be added to `parameter`'s by zeros while `absent` is true: a replica
/// without samples computes on a placeholder, which must not change anything.
std::unique_ptr<torch::autograd::FunctionPreHook> make_absence_hook(const bool& absent, const at::Tensor& parameter);

/// A hook that calls `callback` after a parameter's gradient was accumulated.
std::unique_ptr<torch::autograd::FunctionPostHook> make_gradient_hook(std::function<void()> callback);

}  // namespace evener::engine::torch_engine
