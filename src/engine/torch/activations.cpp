#include "engine/torch/activations.h"

#include <limits>

namespace evener::engine::torch_engine {

using network::ActivationKind;

at::Tensor activate(const at::Tensor& x, ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return at::relu(x);
    case ActivationKind::kRelu6:
      return at::hardtanh(x, 0, 6);
    case ActivationKind::kSigmoid:
      return at::sigmoid(x);
    case ActivationKind::kTanh:
      return at::tanh(x);
    case ActivationKind::kSilu:
      return at::silu(x);
    case ActivationKind::kHardSwish:
      return at::hardswish(x);
    case ActivationKind::kHardSigmoid:
      return at::hardsigmoid(x);
  }
  return x;
}

void activate_in_place(const at::Tensor& x, ActivationKind kind) {
  at::Tensor y = x;
  switch (kind) {
    case ActivationKind::kRelu:
      at::relu_(y);
      break;
    case ActivationKind::kRelu6:
      at::hardtanh_(y, 0, 6);
      break;
    case ActivationKind::kSigmoid:
      at::sigmoid_(y);
      break;
    case ActivationKind::kTanh:
      at::tanh_(y);
      break;
    case ActivationKind::kSilu:
      at::silu_(y);
      break;
    case ActivationKind::kHardSwish:
      at::hardswish_(y);
      break;
    case ActivationKind::kHardSigmoid:
      at::hardsigmoid_(y);
      break;
  }
}

bool may_overwrite_in_training(ActivationKind kind) {
  return kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6 || kind == ActivationKind::kSigmoid ||
         kind == ActivationKind::kTanh;
}

std::optional<kernels::Clamp> clamp_of(std::optional<ActivationKind> kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!kind) return kernels::Clamp{-kInfinity, kInfinity};
  if (*kind == ActivationKind::kRelu) return kernels::Clamp{0, kInfinity};
  if (*kind == ActivationKind::kRelu6) return kernels::Clamp{0, 6};
  return std::nullopt;
}

}  // namespace evener::engine::torch_engine
