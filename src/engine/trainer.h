// A trainer is one replica of a network that is being trained on one device. The interface passes host memory and
// numbers only. What only some trainers can do, they offer beside it (engine/capabilities.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/tensor.h"
#include "data/batch.h"
#include "engine/sums.h"

namespace evener::engine {

struct Capabilities;

/// What has become known since the last report: results of a device come later than the call that started the work.
struct StepReport {
  Sums sums;               // of `steps` steps with a finite loss, in their order
  std::int64_t steps = 0;  // that were reported
  bool finite = true;      // false: the step after those had a loss that isn't; it and all later ones changed nothing
  std::optional<std::uint32_t> culprit = {};  // the sample with that loss, where the trainer tells losses apart
};

/// Not thread-safe: one thread drives it.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Forward and backward in training mode. Gradients become `weight` times the sum over the batch's samples of each
  /// sample's loss gradient; the caller passes 1 / (global sample count), of a detector 1 / DetectsObjects::matches. An
  /// empty batch gives zero gradients, and sums of nothing.
  Sums forward_backward(const data::Batch& batch, double weight) {
    clear_gradients();
    return add_gradients(batch, weight);
  }
  /// The two halves of forward_backward, for gradients that are summed over several batches.
  virtual void clear_gradients() = 0;
  virtual Sums add_gradients(const data::Batch& batch, double weight) = 0;

  /// One optimiser step with the gradients as they stand.
  virtual void apply(double learning_rate) = 0;

  /// A whole step: forward, backward, and the optimiser's step where the loss is finite. For a replica whose gradients
  /// nobody else wants. A trainer that offers StepsAhead does it in its own way, and may report it later.
  StepReport step(const data::Batch& batch, double weight, double learning_rate);
  /// Waits for the steps that have not been reported yet.
  StepReport settle();

  /// Forward in evaluation mode (running statistics, no dropout). The class found for each sample is appended to
  /// `predicted` unless that is null. What a device driven ahead of its results finds is told by end_evaluation().
  virtual Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted = nullptr) = 0;
  /// Waits for what evaluate() did not tell of the batches since the last call, and tells it: the sums, and the classes
  /// of the batches that were given a `predicted`, in their order.
  virtual Sums end_evaluation(std::vector<std::int32_t>* /*predicted*/ = nullptr) { return {}; }

  /// Parameters and buffers under their torchvision names; float32 (num_batches_tracked: int64).
  virtual TensorMap state() const = 0;
  virtual void load_state(const TensorMap& state) = 0;
  /// Momentum and the like, by parameter name with a suffix.
  virtual TensorMap optimizer_state() const = 0;
  virtual void load_optimizer_state(const TensorMap& state) = 0;

  /// What this trainer can do beside all that; the same at every call.
  virtual Capabilities capabilities() = 0;

 protected:
  /// A step by the functions above, one after the other.
  StepReport step_by_parts(const data::Batch& batch, double weight, double learning_rate);
};

}  // namespace evener::engine
