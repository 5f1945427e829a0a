#include "engine/torch/optimizer.h"

#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"
#include "engine/torch/convert.h"

namespace evener::engine::torch_engine {
namespace {

constexpr const char* kSteps = "optimizer.steps";

}  // namespace

Optimizer::Optimizer(std::vector<std::string> names, std::vector<at::Tensor> parameters,
                     const OptimizerOptions& options)
    : names_(std::move(names)),
      parameters_(std::move(parameters)),
      options_(options),
      steps_(at::zeros({}, at::TensorOptions()
                               .dtype(at::kFloat)
                               .device(parameters_.empty() ? at::Device(at::kCPU) : parameters_.front().device()))) {
  const bool adam = options_.kind == OptimizerKind::kAdamW;
  if (adam) {
    slots_.push_back({".exp_avg", {}});
    slots_.push_back({".exp_avg_sq", {}});
  } else if (options_.momentum != 0) {
    slots_.push_back({".momentum", {}});
  }
  for (Slot& slot : slots_) {
    for (const auto& parameter : parameters_) slot.tensors.push_back(at::zeros_like(parameter.detach()));
  }
  if (options_.average_decay == 0) return;
  slots_.push_back({".average", {}});
  for (const auto& parameter : parameters_) slots_.back().tensors.push_back(parameter.detach().clone());
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const auto& parameter : parameters_) gradients.push_back(parameter.grad());
  return gradients;
}

/// At the first step: the first weights came after the constructor.
void Optimizer::begin_average() {
  if (options_.average_decay == 0 || average_began_) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) slots_.back().tensors[i].copy_(parameters_[i]);
  average_began_ = true;
}

void Optimizer::step(double learning_rate) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients = this->gradients();
  clip(gradients);
  begin_average();
  steps_.add_(1);
  update_parameters(gradients, learning_rate, std::nullopt);
  update_average();
}

void Optimizer::step(const at::Tensor& learning_rate, const at::Tensor& skip) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients = this->gradients();
  clip_unseen(gradients);
  begin_average();
  steps_.add_(1 - skip);
  update_parameters(gradients, learning_rate, skip);
  update_average_unseen(skip);
}

template <class Rate>
void Optimizer::update_parameters(const std::vector<at::Tensor>& gradients, const Rate& learning_rate,
                                  const std::optional<at::Tensor>& skip) {
  if (options_.kind == OptimizerKind::kAdamW) {
    const std::vector<at::Tensor> steps(parameters_.size(), steps_);
    at::_fused_adamw_(parameters_, gradients, slots_[0].tensors, slots_[1].tensors, {}, steps, learning_rate,
                      options_.beta1, options_.beta2, options_.weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, /*grad_scale=*/{}, skip);
  } else {
    const std::vector<at::Tensor> none;
    at::_fused_sgd_(parameters_, gradients, options_.momentum != 0 ? slots_[0].tensors : none, options_.weight_decay,
                    options_.momentum, learning_rate, /*dampening=*/0, options_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/false, /*grad_scale=*/{}, skip);
  }
}

/// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector.
void Optimizer::clip(std::vector<at::Tensor>& gradients) const {
  if (options_.clip_norm == 0) return;
  const double norm = at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  const double scale = options_.clip_norm / (norm + 1e-6);
  if (scale < 1) at::_foreach_mul_(gradients, scale);
}

void Optimizer::clip_unseen(std::vector<at::Tensor>& gradients) const {
  if (options_.clip_norm == 0) return;
  const at::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (options_.clip_norm / (norm + 1e-6)).clamp_max(1));
}

void Optimizer::update_average() {
  if (options_.average_decay == 0) return;
  // The first weights say little: the average forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
  const double step = steps_.item<float>();
  const double decay = std::min(options_.average_decay, (1 + step) / (10 + step));
  at::_foreach_lerp_(slots_.back().tensors, parameters_, 1 - decay);
}

void Optimizer::update_average_unseen(const at::Tensor& skip) {
  if (options_.average_decay == 0) return;
  const at::Tensor decay = ((1 + steps_) / (10 + steps_)).clamp_max(options_.average_decay);
  std::vector<at::Tensor> moves = at::_foreach_sub(parameters_, slots_.back().tensors);
  at::_foreach_mul_(moves, (1 - decay) * (1 - skip));
  at::_foreach_add_(slots_.back().tensors, moves);
}

void Optimizer::swap_average() {
  if (options_.average_decay == 0) return;
  const c10::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& average = slots_.back().tensors[i];
    const at::Tensor weights = parameters_[i].detach().clone();
    parameters_[i].copy_(average);
    average.copy_(weights);
  }
}

TensorMap Optimizer::state() const {
  TensorMap map;
  for (const Slot& slot : slots_) {
    for (std::size_t i = 0; i < names_.size(); ++i) map.emplace(names_[i] + slot.suffix, to_host(slot.tensors[i]));
  }
  if (!slots_.empty()) map.emplace(kSteps, to_host(steps_));
  return map;
}

void Optimizer::load_state(const TensorMap& state) {
  const auto find = [&](const std::string& name) -> const HostTensor& {
    const auto found = state.find(name);
    if (found == state.end()) throw Error("the optimiser state has no '" + name + "'");
    return found->second;
  };
  for (Slot& slot : slots_) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string name = names_[i] + slot.suffix;
      copy_from_host(find(name), name, slot.tensors[i]);
    }
  }
  if (slots_.empty()) return;
  copy_from_host(find(kSteps), kSteps, steps_);
  average_began_ = steps_.item<float>() > 0;
}

}  // namespace evener::engine::torch_engine
