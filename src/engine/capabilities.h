// What only some trainers can do: each ability is an interface of its own. A trainer says once which of them it has,
// for the device and the options that it was made with, and whoever drives it chooses its way by that.
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
#include "engine/layer_times.h"
#include "engine/trainer.h"

namespace evener::engine {

/// Gradients in host memory, where replicas exchange them.
class ExchangesGradients {
 public:
  virtual ~ExchangesGradients() = default;
  /// Names in the order of Network::parameters(), trained ones only.
  virtual const std::vector<std::string>& trained_parameters() const = 0;
  /// `callback` is called during add_gradients with the index (into trained_parameters()) of each gradient as it
  /// becomes ready.
  virtual void on_gradient_ready(std::function<void(std::size_t)> callback) = 0;
  /// The gradient's float32 values (a view; writable, so that an exchange can replace them). Their order is the
  /// engine's own, the same for every replica of a run; gradients() has them in row-major order.
  virtual std::span<float> gradient(std::size_t index) = 0;
  /// Row-major copies of all gradients by parameter name.
  virtual TensorMap gradients() const = 0;
  /// Whether what is computed from now on makes gradients final, as it does until this says otherwise. A trainer that
  /// would have to bring others to the host needs not tell of them.
  virtual void gradients_become_final(bool /*final*/) {}
};

/// Whole steps whose gradients nobody else sees. The device may be some steps behind: what is reported can be of
/// earlier steps.
class StepsAhead {
 public:
  virtual ~StepsAhead() = default;
  virtual StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) = 0;
  /// Waits for the steps that have not been reported yet.
  virtual StepReport settle_steps() = 0;
};

/// A batch that several replicas compute.
struct SharedBatch {
  std::int64_t samples = 0;
  std::int64_t counted = 0;  // what its losses' mean is over: samples, or a detector's matched anchors
};

/// Whole steps of replicas whose devices exchange what they compute (TrainerOptions::device_sums). The report is of the
/// whole batch, and the same for all replicas; as with StepsAhead, it can be of earlier steps.
class StepsOnDevices {
 public:
  virtual ~StepsOnDevices() = default;
  /// `share`: this replica's samples of `batch`, which may be none.
  virtual StepReport step_on_devices(const data::Batch& share, const SharedBatch& batch, double learning_rate) = 0;
};

/// Trained parameters, their gradients and the optimiser's values lie in TrainerOptions::shared, once for all replicas.
/// Loading them is replica 0's matter: the others load the rest of a state alone.
class SharesArrays {
 public:
  virtual ~SharesArrays() = default;
  /// Instead of apply(): the optimiser step for one part of the parameters, which is this replica's of `members`
  /// (ascending), with the sum of the members' gradients. Every member does its part, after all have their gradients
  /// and before any computes new ones.
  virtual void apply_part(double learning_rate, std::span<const int> members) = 0;
};

/// A replica's part of a batch that several compute together.
struct BatchShare {
  std::int64_t begin = 0, whole = 0;  // its first sample, and how many the batch has
  std::span<const int> members;       // numbers of the replicas that compute it, ascending
};

/// Replicas compute each step together instead of each the gradients of its own samples. Their arrays lie in
/// TrainerOptions::shared, as with SharesArrays.
class StepsTogether {
 public:
  virtual ~StepsTogether() = default;
  /// A step whose samples are this replica's `share` and those that the other members give; all of them get the report
  /// of the whole batch. The weights may be read when all have returned.
  virtual StepReport step_together(const data::Batch& share, const BatchShare& of, double weight,
                                   double learning_rate) = 0;
};

/// An average of the weights is kept over the steps (OptimizerOptions::average_decay).
class KeepsAverage {
 public:
  virtual ~KeepsAverage() = default;
  /// Exchanges the weights with their average, before an evaluation and after it. Buffers stay.
  virtual void swap_average() = 0;
};

/// A detector's trainer: losses are sums over anchors that are matched with objects, of which an image may have none.
class DetectsObjects {
 public:
  virtual ~DetectsObjects() = default;
  /// Matched anchors of a batch, from its targets alone. A step's weight is 1 over those of the whole batch, whoever
  /// computes which part of it.
  virtual std::int64_t matches(const data::Batch& batch) const = 0;
  /// The first sample whose loss was not finite since gradients were cleared.
  virtual std::optional<std::uint32_t> culprit() const = 0;
  /// Trainer::evaluate, with what the network says of each image: (count, shape) float32 in the order of
  /// Network::outputs().
  virtual Sums evaluate_outputs(const data::Batch& batch, std::vector<HostTensor>& outputs) = 0;
};

/// What a run on this device came to, for its record.
struct DeviceReport {
  std::optional<std::uint64_t> peak_memory_bytes;  // of the device's, by this process; absent on CPUs
  std::map<std::string, double> step_phases_s;  // "h2d", "forward", ...: medians, by the device's clock; may be empty
  std::int64_t skipped_steps = 0;               // whose gradients overflowed (fp16)
  std::vector<std::string> notes;               // how steps were run, and why not otherwise
  std::map<std::string, int> executed;          // as Runner::executed; of rank 0 alone, as the notes
};

class ReportsDevice {
 public:
  virtual ~ReportsDevice() = default;
  virtual DeviceReport report() const = 0;
};

/// Tells what each layer of a step takes.
class TimesLayers {
 public:
  virtual ~TimesLayers() = default;
  /// Forward and backward of a training step, which is not applied, layer by layer: each waits for the one before it,
  /// so that all together take longer than a step does. Buffers (running means) change as in any step.
  virtual std::vector<LayerTime> time_layers(const data::Batch& batch) = 0;
};

/// Float32 values of some samples that go from one stage to the next, or their gradients that come back: of images
/// (N, H, W, C), otherwise (N, ...). They stay as they are while `owner` lives.
struct StageValues {
  std::span<float> values;
  std::shared_ptr<void> owner;
};

/// Trains one stage of a network that is divided over several devices (TrainerOptions::stage). A batch passes in
/// micro-batches, some of which are under way at once, each known by a number.
class TrainsStage {
 public:
  virtual ~TrainsStage() = default;
  struct Passed {
    std::vector<StageValues> sent;  // for the stage after, in the order of Network::outputs(); none of the last stage
    Sums sums;                      // of the last stage; nothing of others
  };
  /// Forward in training mode. What backward_stage() needs of it is kept. `part`: its samples, with the pixels for the
  /// first stage and the targets for the last. `received`: what the stage before sent, in the order of
  /// Network::inputs(); nothing for the first.
  virtual Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<StageValues> received) = 0;
  /// Adds the micro-batch's gradients to those of the parameters, and returns those of what was received. `gradients`:
  /// of what was sent; of the last stage none, but the `weight` of each sample's loss (Trainer::add_gradients). With
  /// StageOfNetwork::splits_backward weights_stage() has to follow, for the parameters' gradients that were left.
  virtual std::vector<StageValues> backward_stage(int micro_batch, std::vector<StageValues> gradients,
                                                  double weight) = 0;
  virtual void weights_stage(int micro_batch) = 0;
  /// Waits until the device is through with what the calls above gave it, where they may return before that.
  virtual void wait_for_stage() {}
  /// Forward in evaluation mode. `predicted`: as Trainer::evaluate, of the last stage.
  virtual Passed evaluate_stage(const data::Batch& part, std::vector<StageValues> received,
                                std::vector<std::int32_t>* predicted) = 0;
  /// The most that weights, gradients, optimiser's values and activations took on the stage's device, in bytes. On a
  /// CPU those of all trainers of the process.
  virtual std::int64_t peak_bytes() const = 0;
};

/// The abilities of one trainer, which live as long as it does; null = it has not got this one.
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

  /// Whether parameters lie in memory of all replicas.
  bool shares_arrays() const { return sharing != nullptr || together != nullptr; }
};

/// The sample whose loss was not finite, where the trainer tells.
std::optional<std::uint32_t> culprit_of(const Capabilities& capabilities);

}  // namespace evener::engine
