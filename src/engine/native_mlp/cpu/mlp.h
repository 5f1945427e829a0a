// The interface that computes a perceptron's losses and gradients, by plain loops (naive_mlp.h) or by kernels for this
// processor (simd_mlp.h).
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

/// A batch, and a pointer to the pixels of each of its samples.
struct Samples {
  const data::Batch& batch;
  const std::uint8_t* const* images;
};

/// The replicas that do a step: only this one, or several that share their arrays and do a portion of the step each.
struct Crew {
  Portion portion = {};
  const std::function<void()>* meet = nullptr;  // returns when all of them have called it; null: alone
  std::span<const int> members = {};            // numbers of the replicas, ascending
};

/// A perceptron. Its functions return the sum of the samples' losses and the number of correct predictions.
class Mlp {
 public:
  virtual ~Mlp() = default;

  /// Computes the gradients of `weight` times the sum of the losses, and writes them to Arrays::gradients or, with
  /// `add`, adds them to it.
  virtual LossSums gradients(const Samples& samples, double weight, bool add,
                             const std::function<void(std::size_t layer)>& on_layer_ready) = 0;
  /// Computes the gradients and updates the weights at once, without storing the gradients. If the loss isn't finite,
  /// nothing is changed. With several replicas in `crew`, all of them call it with the whole batch and get the same
  /// result; the new weights may be read when all have returned.
  virtual LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) = 0;
  /// Updates the trained parameters with Arrays::gradients.
  virtual void update(const UpdateRule& rule) = 0;
  /// Forward only; `predicted` may be null.
  virtual LossSums evaluate(const Samples& samples, std::int32_t* predicted) = 0;
  /// To be called after the weights were changed from outside, which makes packed copies of them stale.
  virtual void weights_changed() = 0;
};

}  // namespace evener::engine::native_mlp
