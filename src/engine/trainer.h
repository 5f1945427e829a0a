// A trainer is one replica of a network that is being trained on one device. The interface passes only host memory and
// numbers. Abilities that only some trainers have are interfaces of their own. A trainer says once which of them it has
// with its device and options, and its caller chooses by that how to do a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/batch.h"
#include "engine/runner.h"
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

/// What only some trainers can do.
struct Ability {
  virtual ~Ability() = default;
};

/// The trainer's gradients can be read and replaced in host memory, so that replicas can exchange them.
struct ExchangesGradients : Ability {
  /// Names of the trained parameters, in the order of Network::parameters().
  virtual const std::vector<std::string>& trained_parameters() const = 0;
  /// `callback` is called during add_gradients with the index (into trained_parameters()) of each gradient as it
  /// becomes ready.
  virtual void on_gradient_ready(std::function<void(std::size_t)> callback) = 0;
  /// The gradient's float32 values (a view; writable, so that an exchange can replace them). Their order is the
  /// engine's own, the same for every replica of a run; gradients() has them in row-major order.
  virtual std::span<float> gradient(std::size_t index) = 0;
  /// Row-major copies of all gradients by parameter name.
  virtual TensorMap gradients() const = 0;
  /// Whether the gradients of the next add_gradients() are final, which is the default, or later calls of the same step
  /// will add to them. While they are not final, a trainer on a device need not copy them to the host, nor call the
  /// callback of on_gradient_ready().
  virtual void gradients_become_final(bool /*final*/) {}
};

/// Whole steps whose gradients no other replica needs. The device may lag some steps behind the calls, so a report can
/// be about earlier steps.
struct StepsAhead : Ability {
  virtual StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) = 0;
  /// Waits for the steps that have not been reported yet, and reports them.
  virtual StepReport settle_steps() = 0;
};

/// The size of a batch that several replicas compute together.
struct SharedBatch {
  std::int64_t samples = 0;
  std::int64_t counted = 0;  // what the mean loss is divided by: samples, or a detector's matched anchors
};

/// Whole steps of replicas whose devices exchange gradients themselves (TrainerOptions::device_sums). The report is
/// about the whole batch, and the same for all replicas; as with StepsAhead, it can be about earlier steps.
struct StepsOnDevices : Ability {
  /// `share`: this replica's samples of `batch`, which may be none.
  virtual StepReport step_on_devices(const data::Batch& share, const SharedBatch& batch, double learning_rate) = 0;
};

/// Trained parameters, their gradients and the optimiser's values lie in TrainerOptions::shared, memory that all
/// replicas see. Parameters and the optimiser's values exist once, and only replica 0 loads them: the other replicas
/// load only the rest of a state.
struct SharesArrays : Ability {
  /// Replaces apply(): does the optimiser step for this replica's part of the parameters, with the sum of the gradients
  /// of all `members` (ascending numbers of replicas). Every member must do its part after all have computed their
  /// gradients and before any computes new ones.
  virtual void apply_part(double learning_rate, std::span<const int> members) = 0;
};

/// A replica's part of a batch that several compute together.
struct BatchShare {
  std::int64_t begin = 0, whole = 0;  // its first sample, and how many the batch has
  std::span<const int> members;       // numbers of the replicas that compute it, ascending
};

/// Replicas divide the work of each step, not only its samples. Their arrays lie in TrainerOptions::shared, as with
/// SharesArrays.
struct StepsTogether : Ability {
  /// A step on the batch made of this replica's `share` and those of the other members, who must all call it; each gets
  /// the report of the whole batch. The weights may be read once all have returned.
  virtual StepReport step_together(const data::Batch& share, const BatchShare& of, double weight,
                                   double learning_rate) = 0;
};

/// The trainer keeps an exponential moving average of the weights (OptimizerOptions::average_decay).
struct KeepsAverage : Ability {
  /// Swaps the weights with their average: called before an evaluation, and again after it. Buffers are not swapped.
  virtual void swap_average() = 0;
};

/// A detector's trainer: losses are averaged over the anchors that are matched with objects, and an image may have
/// none.
struct DetectsObjects : Ability {
  /// The number of matched anchors of a batch, from its targets alone. The weight of a step is 1 / (matched anchors of
  /// the whole batch), for every replica.
  virtual std::int64_t matches(const data::Batch& batch) const = 0;
  /// The first sample since clear_gradients() whose loss was not finite.
  virtual std::optional<std::uint32_t> culprit() const = 0;
  /// As Trainer::evaluate, and returns the network's outputs: each (count, shape) float32, in the order of
  /// Network::outputs().
  virtual Sums evaluate_outputs(const data::Batch& batch, std::vector<HostTensor>& outputs) = 0;
};

/// Facts about a run on this device, for its record.
struct DeviceReport {
  std::optional<std::uint64_t> peak_memory_bytes;  // of the device's memory, by this process; absent on CPUs
  std::map<std::string, double> step_phases_s;  // "h2d", "forward", ...: medians, by the device's clock; may be empty
  std::int64_t skipped_steps = 0;               // steps whose gradients overflowed (fp16)
  std::vector<std::string> notes;               // how steps were run, and why not otherwise
  std::map<std::string, int> executed;          // as Runner::executed; of rank 0 alone, as the notes
};

struct ReportsDevice : Ability {
  virtual DeviceReport report() const = 0;
};

/// The trainer can measure the time of each layer of a step.
struct TimesLayers : Ability {
  /// Does the forward and backward pass of a training step without applying it, and times each layer. Each layer waits
  /// for the one before it, so that their sum is more than the time of a step. Buffers (running means) change as in any
  /// step.
  virtual std::vector<LayerTime> time_layers(const data::Batch& batch) = 0;
};

/// Float32 activations that go from one stage to the next, or their gradients that come back: (N, H, W, C) for images,
/// otherwise (N, ...). They stay unchanged while `owner` lives.
struct StageValues {
  std::span<float> values;
  std::shared_ptr<void> owner;
};

/// Trains one stage of a network that is divided over several devices (TrainerOptions::stage). A batch passes in
/// micro-batches, identified by numbers, of which several may be under way at once.
struct TrainsStage : Ability {
  struct Passed {
    std::vector<StageValues> sent;  // to the next stage, in the order of Network::outputs(); empty for the last stage
    Sums sums;                      // of the last stage; empty for the others
  };
  /// Forward pass in training mode; keeps what backward_stage() will need. `part`: the micro-batch's samples, with
  /// pixels for the first stage and targets for the last. `received`: what the stage before sent, in the order of
  /// Network::inputs(); empty for the first.
  virtual Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<StageValues> received) = 0;
  /// Backward pass: adds the micro-batch's gradients to those of the parameters, and returns the gradients of the
  /// received values. `gradients`: those of the sent values; empty for the last stage, which uses `weight`, that of
  /// each sample's loss (Trainer::add_gradients). With StageOfNetwork::splits_backward the parameters' gradients are
  /// left to weights_stage(), which has to follow.
  virtual std::vector<StageValues> backward_stage(int micro_batch, std::vector<StageValues> gradients,
                                                  double weight) = 0;
  virtual void weights_stage(int micro_batch) = 0;
  /// Waits until the device has finished the work of the calls above, which may return before that.
  virtual void wait_for_stage() {}
  /// Forward pass in evaluation mode. `predicted`: as in Trainer::evaluate, for the last stage.
  virtual Passed evaluate_stage(const data::Batch& part, std::vector<StageValues> received,
                                std::vector<std::int32_t>* predicted) = 0;
  /// Peak memory in bytes of weights, gradients, the optimiser's values and activations on the stage's device; on a
  /// CPU, of all trainers of the process.
  virtual std::int64_t peak_bytes() const = 0;
};

/// The abilities of one trainer, valid as long as it lives; null = it doesn't have this one.
struct Capabilities {
  ExchangesGradients* exchange = nullptr;
  StepsAhead* ahead = nullptr;
  StepsOnDevices* on_devices = nullptr;
  SharesArrays* sharing = nullptr;
  StepsTogether* together = nullptr;
  KeepsAverage* average = nullptr;
  ReportsDevice* device = nullptr;
  DetectsObjects* detector = nullptr;
  TimesLayers* layers = nullptr;
  TrainsStage* stage = nullptr;

  /// Whether the parameters lie in memory that all replicas share.
  bool shares_arrays() const { return sharing != nullptr || together != nullptr; }
};

/// The sample whose loss was not finite, where the trainer tells.
std::optional<std::uint32_t> culprit_of(const Capabilities& capabilities);

}  // namespace evener::engine
