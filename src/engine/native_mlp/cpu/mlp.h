// What computes a perceptron's losses and gradients: plain loops (naive_mlp.h), or kernels for this processor
// (simd_mlp.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/cpu/portion.h"
#include "engine/pixel_scale.h"

namespace evener::engine::native_mlp {

/// The arrays of a trainer, each laid out as its Parameters say.
struct Arrays {
  Array values, gradients, momentum, average;  // the last two are empty where they aren't kept
};

/// A batch, and where the pixels of each of its samples lie.
struct Samples {
  const data::Batch& batch;
  const std::uint8_t* const* images;
};

/// Who does a step: this replica alone, or several that share their arrays, each a portion of it.
struct Crew {
  Portion portion = {};
  const std::function<void()>* meet = nullptr;  // returns when all of them have called it; null: alone
  std::span<const int> members = {};            // numbers of the replicas, ascending
};

/// Functions return the sums of losses and of classes found right over the samples.
class Mlp {
 public:
  virtual ~Mlp() = default;

  /// Gradients of `weight` times the sum of the losses, written to the array or, with `add`, added to it.
  virtual LossSums gradients(const Samples& samples, double weight, bool add,
                             const std::function<void(std::size_t layer)>& on_layer_ready) = 0;
  /// The same and the update, without the gradients being kept. Where the loss isn't finite nothing is changed. With a
  /// crew, all members call it with the whole batch, and all get its result; the weights are those of the next step
  /// when all have returned.
  virtual LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) = 0;
  /// The update of trained parameters with the gradients as they stand.
  virtual void update(const UpdateRule& rule) = 0;
  /// Forward only; `predicted` may be null.
  virtual LossSums evaluate(const Samples& samples, std::int32_t* predicted) = 0;
  /// The weights were changed from outside.
  virtual void weights_changed() = 0;
};

}  // namespace evener::engine::native_mlp
