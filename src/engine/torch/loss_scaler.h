// Dynamic loss scaling for fp16: small gradients are kept from vanishing, and steps whose gradients overflowed are
// skipped. Nothing of it is read on the host, so it can be part of a captured step.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace evener::engine::torch_engine {

class LossScaler {
 public:
  /// Starts at 2^16, doubles after 2000 good steps, halves after an overflow: the usual values.
  explicit LossScaler(at::Device device);

  /// What losses are multiplied by: float32 (), the same tensor for life.
  const at::Tensor& scale() const { return scale_; }
  /// Divides `gradients` (float32) by the scale, and sets `overflow` (float32 ()) to 1 where one of them is not finite.
  void unscale(at::TensorList gradients, at::Tensor& overflow) const;
  /// Sets `overflow` to 1 where one of the unscaled gradients is not finite.
  static void check(at::TensorList gradients, at::Tensor& overflow);
  /// Updates the scale at the end of a step, which was skipped if `overflow` is 1.
  void update(const at::Tensor& overflow);

  /// The number of skipped steps; waits for the device.
  std::int64_t skipped() const { return skipped_.item<std::int64_t>(); }
  /// scale, good steps since it changed, skipped steps: float32 (3). Waits for the device.
  at::Tensor state() const;
  void load_state(const at::Tensor& state);

 private:
  at::Tensor scale_, good_steps_, skipped_;
};

}  // namespace evener::engine::torch_engine
