// What computes a perceptron's losses and gradients: plain loops (naive_mlp.h), or kernels for this processor
// (simd_mlp.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/native/kernels.h"
#include "engine/native/memory.h"
#include "engine/native/parameters.h"

namespace evener::engine::native {

/// The arrays of a trainer, each laid out as its Parameters say.
struct Arrays {
  Array values, gradients, momentum, average;  // the last two are empty where they aren't kept
};

/// Normalisation of the pixels of one channel: value * scale + shift.
struct Normalization {
  std::vector<float> scale, shift;
};

/// fp16 is computed as bf16, tf32 as fp32, as on every CPU.
inline bool uses_bfloat16(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

class Mlp {
 public:
  virtual ~Mlp() = default;

  /// Gradients of `weight` times the sum of the losses, written to the array or, with `add`, added to it.
  virtual BatchResult gradients(const data::Batch& batch, double weight, bool add,
                                const std::function<void(std::size_t layer)>& on_layer_ready) = 0;
  /// The same and the update, without the gradients being kept. Where the loss isn't finite nothing is changed.
  virtual BatchResult step(const data::Batch& batch, double weight, const UpdateRule& rule) = 0;
  /// The update of trained parameters with the gradients as they stand.
  virtual void update(const UpdateRule& rule) = 0;
  /// The update of values [begin, end) of the arrays with the sum of several replicas' gradients, in their order. One
  /// of them is this one's, whose gradients are lost. Only where Options say that arrays are shared.
  virtual void update_part(const UpdateRule& rule, std::span<const float* const> gradients, std::int64_t begin,
                           std::int64_t end) = 0;
  /// Forward only; `predicted` may be null.
  virtual BatchResult evaluate(const data::Batch& batch, std::int32_t* predicted) = 0;
  /// The weights were changed from outside.
  virtual void weights_changed() = 0;
};

}  // namespace evener::engine::native
