// A trainer is one replica of a network that is being trained on one device. The interface passes only host memory and
// numbers. Abilities that only some trainers have are interfaces of their own (engine/capabilities.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/tensor.h"
#include "data/batch.h"
#include "engine/sums.h"

namespace evener::engine {

struct Capabilities;

/// The results that became known since the last report. Results of a device come later than the call that started the
/// work.
struct StepReport {
  Sums sums;               // over the `steps` reported steps, all with a finite loss
  std::int64_t steps = 0;  // reported steps
  /// False: the loss of the step after these was not finite; that step and all later ones changed nothing.
  bool finite = true;
  /// The sample with the loss that isn't finite, where the trainer knows each sample's loss.
  std::optional<std::uint32_t> culprit = {};
};

/// Not thread-safe: one thread drives it.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Forward and backward pass in training mode. Gradients become `weight` times the sum of the gradients of the
  /// samples' losses; callers pass 1 / (samples of the whole batch over all replicas), for a detector 1 /
  /// DetectsObjects::matches of the whole batch. An empty batch gives zero gradients, and sums of nothing.
  Sums forward_backward(const data::Batch& batch, double weight) {
    clear_gradients();
    return add_gradients(batch, weight);
  }
  /// The two halves of forward_backward, for gradients that are summed over several batches.
  virtual void clear_gradients() = 0;
  virtual Sums add_gradients(const data::Batch& batch, double weight) = 0;

  /// One optimiser step with the gradients as they stand.
  virtual void apply(double learning_rate) = 0;

  /// A whole step: forward, backward, and the optimiser's step if the loss is finite. For a replica whose gradients no
  /// other one needs. Trainers with StepsAhead use step_ahead(), whose report may come some steps later.
  StepReport step(const data::Batch& batch, double weight, double learning_rate);
  /// Waits for the steps that have not been reported yet.
  StepReport settle();

  /// Forward pass in evaluation mode (running statistics, no dropout). The predicted class of each sample is appended
  /// to `predicted` unless that is null. Where a device works asynchronously, the sums and predictions may only come
  /// from end_evaluation().
  virtual Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted = nullptr) = 0;
  /// Waits for the results that evaluate() did not return for the batches since the last call. Returns their sums, and
  /// appends the predicted classes of those batches that were given a `predicted`, in their order.
  virtual Sums end_evaluation(std::vector<std::int32_t>* /*predicted*/ = nullptr) { return {}; }

  /// Parameters and buffers under their torchvision names; float32 (num_batches_tracked: int64).
  virtual TensorMap state() const = 0;
  virtual void load_state(const TensorMap& state) = 0;
  /// The optimiser's values (momentum and the like), under the parameter's name with a suffix.
  virtual TensorMap optimizer_state() const = 0;
  virtual void load_optimizer_state(const TensorMap& state) = 0;

  /// The abilities that this trainer has beyond this interface; the same at every call.
  virtual Capabilities capabilities() = 0;

 protected:
  /// Does a step by forward_backward() and apply(), for trainers without StepsAhead.
  StepReport step_by_parts(const data::Batch& batch, double weight, double learning_rate);
};

}  // namespace evener::engine
