#include "engine/torch/loss_scaler.h"

#include <c10/core/GradMode.h>

namespace evener::engine::torch_engine {
namespace {

constexpr double kFirstScale = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

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

}  // namespace evener::engine::torch_engine
