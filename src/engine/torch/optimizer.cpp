#include "engine/torch/optimizer.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/torch/convert.h"

namespace evener::engine::torch_engine {
namespace {

constexpr double kFirstScale = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

constexpr const char* kSteps = "optimizer.steps";
constexpr const char* kAverage = ".average";

/// The suffixes of the values that the optimiser keeps for each parameter: ".momentum". There are optimizer_slots() of
/// them.
std::vector<std::string> slot_suffixes(const OptimizerOptions& options) {
  std::vector<std::string> suffixes;
  if (options.kind == OptimizerKind::kAdamW) {
    suffixes = {".exp_avg", ".exp_avg_sq"};
  } else if (options.momentum != 0) {
    suffixes = {".momentum"};
  }
  if (options.average_decay != 0) suffixes.push_back(kAverage);
  return suffixes;
}

}  // namespace

LossScaler::LossScaler(at::Device device)
    : scale_(at::full({}, kFirstScale, at::TensorOptions().dtype(at::kFloat).device(device))),
      good_steps_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))),
      skipped_(at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device))) {}

void LossScaler::unscale(at::TensorList gradients, at::Tensor& overflow) const {
  if (gradients.empty()) return;
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, scale_.reciprocal());
}

void LossScaler::check(at::TensorList gradients, at::Tensor& overflow) {
  if (gradients.empty()) return;
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, at::ones_like(overflow));
}

void LossScaler::update(const at::Tensor& overflow) {
  at::_amp_update_scale_(scale_, good_steps_, overflow, kGrowth, kBackoff, kGrowthInterval);
  skipped_.add_(overflow.to(at::kLong));
}

at::Tensor LossScaler::state() const {
  return at::stack({scale_, good_steps_.to(at::kFloat), skipped_.to(at::kFloat)}).to(at::kCPU);
}

void LossScaler::load_state(const at::Tensor& state) {
  const c10::NoGradGuard no_grad;
  scale_.copy_(state[0]);
  good_steps_.copy_(state[1]);
  skipped_.copy_(state[2]);
}

Optimizer::Optimizer(std::vector<std::string> names, std::vector<at::Tensor> parameters,
                     const std::vector<double>& rates, const OptimizerOptions& options, const SharedParameters* shared)
    : names_(std::move(names)),
      parameters_(std::move(parameters)),
      options_(options),
      shared_(shared),
      steps_(at::zeros({}, at::TensorOptions()
                               .dtype(at::kFloat)
                               .device(parameters_.empty() ? at::Device(at::kCPU) : parameters_.front().device()))) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (groups_.empty() || groups_.back().rate != rates[i]) groups_.push_back({i, 0, rates[i]});
    ++groups_.back().count;
  }
  for (const std::string& suffix : slot_suffixes(options_)) {
    std::vector<at::Tensor> tensors;
    if (shared_ != nullptr) {
      tensors = shared_->slot(slots_.size());
    } else {
      for (const auto& parameter : parameters_) tensors.push_back(at::zeros_like(parameter.detach()));
    }
    slots_.push_back({suffix, std::move(tensors)});
  }
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const auto& parameter : parameters_) gradients.push_back(parameter.grad());
  return gradients;
}

/// Initialises the average at the first step, since the initial weights are loaded after the constructor.
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
  if (parameters_.empty()) return;  // a stage of which nothing is trained
  for (const Group& group : groups_) update(lists_of(group, gradients), learning_rate * group.rate, std::nullopt);
  update_average();
}

void Optimizer::step_part(double learning_rate, std::span<const int> members) {
  const c10::NoGradGuard no_grad;
  steps_.add_(1);
  shared_->for_each_piece(members, [&](const SharedParameters::Piece& piece) {
    const at::TensorList slots = piece.slots;
    const std::size_t first = std::min<std::size_t>(slots.size(), 1);
    update({piece.values, piece.gradients, slots.slice(0, first), slots.slice(first)}, learning_rate, std::nullopt);
  });
}

void Optimizer::step(const at::Tensor& learning_rate, const at::Tensor& skip) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients = this->gradients();
  clip_unseen(gradients);
  begin_average();
  steps_.add_((1 - skip).to(steps_.device()));  // on the CPU where nothing is trained
  if (parameters_.empty()) return;
  for (const Group& group : groups_) {
    const at::Tensor rate = group.rate == 1 ? learning_rate : learning_rate * group.rate;
    update(lists_of(group, gradients), rate, skip);
  }
  update_average_unseen(skip);
}

Optimizer::Lists Optimizer::lists_of(const Group& group, const std::vector<at::Tensor>& gradients) const {
  const bool adam = options_.kind == OptimizerKind::kAdamW, first = adam || options_.momentum != 0;
  const auto part = [&](at::TensorList all) { return all.slice(group.begin, group.count); };
  return {part(parameters_), part(gradients), first ? part(slots_[0].tensors) : at::TensorList(),
          adam ? part(slots_[1].tensors) : at::TensorList()};
}

template <class Rate>
void Optimizer::update(const Lists& lists, const Rate& learning_rate, const std::optional<at::Tensor>& skip) const {
  if (options_.kind == OptimizerKind::kAdamW) {
    const std::vector<at::Tensor> steps(lists.values.size(), steps_);
    at::_fused_adamw_(lists.values, lists.gradients, lists.first_slot, lists.second_slot, {}, steps, learning_rate,
                      options_.beta1, options_.beta2, options_.weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, /*grad_scale=*/{}, skip);
  } else {
    at::_fused_sgd_(lists.values, lists.gradients, lists.first_slot, options_.weight_decay, options_.momentum,
                    learning_rate, /*dampening=*/0, options_.nesterov, /*maximize=*/false, /*is_first_step=*/false,
                    /*grad_scale=*/{}, skip);
  }
}

/// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector.
void Optimizer::clip(std::vector<at::Tensor>& gradients) const {
  if (options_.clip_norm == 0) return;
  double norm = gradients.empty() ? 0 : at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (options_.sum_over_stages) norm = std::sqrt(options_.sum_over_stages(norm * norm));
  const double scale = options_.clip_norm / (norm + 1e-6);
  if (scale < 1 && !gradients.empty()) at::_foreach_mul_(gradients, scale);
}

void Optimizer::clip_unseen(std::vector<at::Tensor>& gradients) const {
  if (options_.sum_over_stages) return clip(gradients);  // summed over the stages through the host
  if (options_.clip_norm == 0) return;
  const at::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (options_.clip_norm / (norm + 1e-6)).clamp_max(1));
}

void Optimizer::update_average() {
  if (options_.average_decay == 0) return;
  // The average forgets faster at the start, since the first weights say little (as TensorFlow's
  // ExponentialMovingAverage).
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
  const bool followed = shared_ != nullptr && shared_->follows();  // replica 0 loads the shared values
  for (Slot& slot : slots_) {
    for (std::size_t i = 0; i < names_.size() && !followed; ++i) {
      const std::string name = names_[i] + slot.suffix;
      copy_from_host(find(name), name, slot.tensors[i]);
    }
  }
  if (slots_.empty()) return;
  copy_from_host(find(kSteps), kSteps, steps_);
  average_began_ = steps_.item<float>() > 0;
}

}  // namespace evener::engine::torch_engine
