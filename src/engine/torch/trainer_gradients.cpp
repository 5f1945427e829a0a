// The trainer's gradients: from the backward pass to their exchange and to the optimiser.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "engine/torch/device.h"
#include "engine/torch/trainer.h"

namespace evener::engine::torch_engine {
namespace {

using torch::autograd::variable_list;

/// Replaces the gradient about to be added to `parameter`'s by zeros while `absent` is true: a replica without samples
/// computes on a placeholder, which must not change anything.
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

/// Calls `callback` after a parameter's gradient was accumulated.
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

void TorchTrainer::watch_gradients() {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(trained_[i]);
    if (synchronised_ || exchange_) {
      accumulator->add_pre_hook(std::make_unique<AbsenceHook>(replicas_.absent, trained_[i]));
    }
    accumulator->add_post_hook(std::make_unique<GradientHook>([this, i] { gradient_computed(i); }));
    accumulators_.push_back(std::move(accumulator));
  }
}

/// Called on autograd's thread for the device when a gradient has been accumulated.
void TorchTrainer::gradient_computed(std::size_t index) {
  if (!own_cpus_.empty()) keep_on(own_cpus_);
  if (exchange_) {
    if (final_) exchange_->gradient_ready(index);
    return;
  }
  if (shared_) put_into_shared(index);
  if (!gradient_ready_) return;
  if (!ahead_) {
    gradient_ready_(index);
    return;
  }
  fetched_[index] = final_ ? 1 : 0;
  if (!final_) return;  // later batches of the step will add to it
  const c10::NoGradGuard no_grad;
  host_gradients_->fetch(index, unscaled(index));
  ready_.push_back(index);
}

/// Moves a gradient into shared memory, where later batches of the step are added to it in place.
void TorchTrainer::put_into_shared(std::size_t index) {
  at::Tensor& gradient = trained_[index].mutable_grad();
  const at::Tensor& place = shared_gradients_[index];
  if (gradient.is_same(place)) return;
  const PhaseMark mark(Phase::kExchange);
  const c10::NoGradGuard no_grad;
  place.copy_(gradient);
  gradient = place;
}

/// Calls the callback for each gradient as its copy arrives, in the order of computation, while the device computes
/// later ones.
void TorchTrainer::tell_ready() {
  for (const std::size_t index : std::exchange(ready_, {})) {
    host_gradients_->wait(index);
    gradient_ready_(index);
  }
}

at::Tensor TorchTrainer::unscaled(std::size_t index) const {
  const at::Tensor& gradient = trained_[index].grad();
  return scaler_ ? gradient / scaler_->scale() : gradient;
}

void TorchTrainer::clear_gradients() {
  for (auto& parameter : trained_) parameter.mutable_grad().reset();
  handed_out_.assign(trained_.size(), 0);
  fetched_.assign(trained_.size(), 0);
  culprit_.reset();
  graph_.forget_weights();
  if (exchange_) exchange_->begin_gradients();
}

std::span<float> TorchTrainer::gradient(std::size_t index) {
  return with_trainer_errors(graph_.network(), options_, 0, [&] { return gradient_on_host(index); });
}

std::span<float> TorchTrainer::gradient_on_host(std::size_t index) {
  at::Tensor& gradient = trained_.at(index).mutable_grad();
  if (!gradient.defined()) throw Error("no gradient of '" + trained_names_[index] + "' yet");
  const c10::NoGradGuard no_grad;
  const bool again = std::exchange(handed_out_[index], 1) != 0;
  if (!ahead_) {
    if (scaler_ && !again) gradient.div_(scaler_->scale());
    return {gradient.mutable_data_ptr<float>(), static_cast<std::size_t>(gradient.numel())};
  }
  if (fetched_[index] == 0 && !again) {  // no copy of it was started
    const WorkingIn compute(streams_.compute());
    host_gradients_->fetch(index, unscaled(index));
  }
  return host_gradients_->wait(index);
}

TensorMap TorchTrainer::gradients() const {
  const WorkingIn compute(streams_.compute());
  return with_trainer_errors(graph_.network(), options_, 0, [&] {
    TensorMap map;
    for (std::size_t i = 0; i < trained_.size(); ++i) {
      if (!trained_[i].grad().defined()) continue;
      const at::Tensor values = handed_out_[i] == 0 ? unscaled(i)
                                : ahead_            ? host_gradients_->tensor(i)
                                                    : trained_[i].grad();
      map.emplace(trained_names_[i], to_host(values));
    }
    return map;
  });
}

std::vector<at::Tensor> TorchTrainer::gradients_where(bool handed_out) const {
  std::vector<at::Tensor> found;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if ((handed_out_[i] != 0) == handed_out) found.push_back(trained_[i].grad());
  }
  return found;
}

void TorchTrainer::apply(double learning_rate) {
  const PhaseMark mark(Phase::kUpdate);
  graph_.forget_weights();
  if (!ahead_ && !scaler_) {
    optimizer_->step(learning_rate);
    return;
  }
  const WorkingIn compute(streams_.compute());
  const c10::NoGradGuard no_grad;
  with_trainer_errors(graph_.network(), options_, 0, [&] {
    for (std::size_t i = 0; i < trained_.size() && ahead_; ++i) {
      if (handed_out_[i] != 0) host_gradients_->give_back(i, trained_[i].mutable_grad());
    }
    if (exchange_) exchange_->finish_gradients();
    const auto number = at::TensorOptions().dtype(at::kFloat).device(graph_.device());
    update_unseen(at::full({}, learning_rate, number), at::zeros({}, number));
  });
}

void TorchTrainer::apply_part(double learning_rate, std::span<const int> members) {
  const PhaseMark mark(Phase::kUpdate);
  graph_.forget_weights();
  optimizer_->step_part(learning_rate, members);
}

void TorchTrainer::update_unseen(const at::Tensor& learning_rate, const at::Tensor& stopped) {
  const c10::NoGradGuard no_grad;
  if (!scaler_) {
    optimizer_->step(learning_rate, stopped);
    return;
  }
  at::Tensor overflow = at::zeros_like(stopped);
  scaler_->unscale(gradients_where(/*handed_out=*/false), overflow);
  LossScaler::check(gradients_where(/*handed_out=*/true), overflow);
  optimizer_->step(learning_rate, at::maximum(stopped, overflow));
  scaler_->update(overflow * (1 - stopped));  // a loss that is not finite doesn't count as an overflow of gradients
}

}  // namespace evener::engine::torch_engine
