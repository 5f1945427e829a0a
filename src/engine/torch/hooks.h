// What is done around the accumulation of a parameter's gradient.
#pragma once

#include <torch/csrc/autograd/function_hook.h>

#include <functional>
#include <memory>

namespace evener::engine::torch_engine {

/// Puts zeros in place of the gradient that is about to be added to `parameter`'s, while `absent`.
std::unique_ptr<torch::autograd::FunctionPreHook> make_absence_hook(const bool& absent, const at::Tensor& parameter);

/// Calls back after a parameter's gradient was accumulated.
std::unique_ptr<torch::autograd::FunctionPostHook> make_gradient_hook(std::function<void()> callback);

}  // namespace evener::engine::torch_engine
