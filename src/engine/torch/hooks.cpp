#include "engine/torch/hooks.h"

#include <ATen/ATen.h>

#include <utility>

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::variable_list;

class AbsenceHook : public torch::autograd::FunctionPreHook {
 public:
  AbsenceHook(const bool& absent, const at::Tensor& parameter) : absent_(absent), parameter_(parameter.detach()) {}
  variable_list operator()(const variable_list& gradients) override {
    if (!absent_) return gradients;
    return {at::zeros_like(parameter_)};
  }

 private:
  const bool& absent_;
  at::Tensor parameter_;
};

class GradientHook : public torch::autograd::FunctionPostHook {
 public:
  explicit GradientHook(std::function<void()> callback) : callback_(std::move(callback)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    callback_();
    return outputs;
  }

 private:
  std::function<void()> callback_;
};

}  // namespace

std::unique_ptr<torch::autograd::FunctionPreHook> make_absence_hook(const bool& absent, const at::Tensor& parameter) {
  return std::make_unique<AbsenceHook>(absent, parameter);
}

std::unique_ptr<torch::autograd::FunctionPostHook> make_gradient_hook(std::function<void()> callback) {
  return std::make_unique<GradientHook>(std::move(callback));
}

}  // namespace evener::engine::torch_engine
