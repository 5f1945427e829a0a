// An engine makes a Network compute. Engines are modules; the interface passes host memory and numbers only.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/error.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "network/network.h"

namespace evener::engine {

enum class Loss { kCrossEntropy, kMse };  // MSE: against one-hot targets, mean over outputs, as torch.nn.MSELoss
enum class MemoryLayout { kAuto, kChannelsFirst, kChannelsLast };

/// Of the native engine: the fastest of this processor, or plain loops as a reference.
enum class KernelChoice { kSimd, kNaive };

const char* loss_name(Loss loss);

enum class OptimizerKind { kSgd, kAdamW };

const char* optimizer_name(OptimizerKind kind);  // "sgd", "adamw"

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  double momentum = 0;    // of SGD
  bool nesterov = false;  // SGD looks ahead along its momentum (torch.optim.SGD)
  double weight_decay =
      0;  // SGD: L2 term added to the gradient; AdamW: weights shrink by lr * this (torch.optim.AdamW)
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of AdamW
  double clip_norm = 0;      // gradients are scaled down to this norm over all of them; 0 = never
  double average_decay = 0;  // of an exponential average of the weights over the steps; 0 = none is kept
};

/// Memory that all replicas of a run see, for engines that keep weights once for all of them. Zero at first.
struct SharedArrays {
  std::span<std::byte> bytes;  // Engine::shared_bytes of them; empty: none
  int replica = 0, replicas = 1;
  std::int64_t batch = 0;      // samples of all replicas together, at most
  std::function<void()> meet;  // returns when every replica that trains has called it
};

/// A replica's part of a batch that several compute together.
struct BatchShare {
  std::int64_t begin = 0, whole = 0;  // its first sample, and how many the batch has
  std::span<const int> members;       // numbers of the replicas that compute it, ascending
};

struct TrainerOptions {
  Device device;
  std::vector<int> cpus;  // CPUs that compute; empty = not pinned
  int threads = 1;
  Precision precision = Precision::kFp32;
  Loss loss = Loss::kCrossEntropy;
  MemoryLayout layout = MemoryLayout::kAuto;
  KernelChoice kernels = KernelChoice::kSimd;
  int accumulate = 1;          // calls of add_gradients whose gradients make up a step
  double label_smoothing = 0;  // cross-entropy against (1 - s) * one-hot + s / classes
  OptimizerOptions optimizer;
  std::vector<float> mean, standard_deviation;  // per channel, applied to value / 255
  std::uint64_t seed = 1;
  /// Adds up values over all replicas, in place, for the batch-norm statistics of the whole batch. Every replica calls
  /// it equally often, in the same order and with equal sizes, also one whose batch is empty. Empty = batch-norm takes
  /// the statistics of this replica's samples alone.
  std::function<void(std::span<double>)> sum_over_replicas;
  SharedArrays shared;
  /// Data that the device keeps whole, or that the engine takes from memory itself, so that batches need only say which
  /// samples they have (data::Batch::images may be empty). Null = images come with each batch.
  std::shared_ptr<const data::Dataset> resident = nullptr;
  /// Whether Trainer::step may replay the work of an earlier step as one (a CUDA graph) instead of starting every
  /// kernel anew.
  bool step_graph = true;
  /// Drives the CPU as a GPU is driven: staged copies, results that come later. For tests.
  bool like_accelerator = false;
};

/// The device has too little memory for what was asked of it.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Sums over the samples of a batch, so that batches and replicas can be added exactly.
struct BatchResult {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;

  BatchResult& operator+=(const BatchResult& other) {
    loss_sum += other.loss_sum;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

/// What has become known since the last report: results of a device come later than the call that started the work.
struct StepReport {
  BatchResult sums;        // of `steps` steps with a finite loss, in their order
  std::int64_t steps = 0;  // that were reported
  bool finite = true;      // false: the step after those had a loss that isn't; it and all later ones changed nothing
};

/// What a run on this device came to, for its record.
struct DeviceReport {
  std::optional<std::uint64_t> peak_memory_bytes;  // of the device's, by this process; absent on CPUs
  std::map<std::string, double> step_phases_s;  // "h2d", "forward", ...: medians, by the device's clock; may be empty
  std::int64_t skipped_steps = 0;               // whose gradients overflowed (fp16)
  std::vector<std::string> notes;               // how steps were run, and why not otherwise
};

/// One replica of a network being trained on one device. Not thread-safe: one thread drives it.
class Trainer {
 public:
  virtual ~Trainer() = default;

  /// Forward and backward in training mode. Gradients become `weight` times the sum over the batch's samples of each
  /// sample's loss gradient; the caller passes 1 / (global sample count). An empty batch gives zero gradients.
  BatchResult forward_backward(const data::Batch& batch, double weight) {
    clear_gradients();
    return add_gradients(batch, weight);
  }
  /// The two halves of forward_backward, for gradients that are summed over several batches.
  virtual void clear_gradients() = 0;
  virtual BatchResult add_gradients(const data::Batch& batch, double weight) = 0;

  /// Called during add_gradients with the index (into trained_parameters()) of each gradient as it becomes ready.
  virtual void on_gradient_ready(std::function<void(std::size_t)> callback) = 0;
  /// Names in the order of Network::parameters(), trained ones only.
  virtual const std::vector<std::string>& trained_parameters() const = 0;
  /// The gradient's float32 values in host memory (a view; writable, so that an exchange can replace them). Their order
  /// is the engine's own, the same for every replica of a run; gradients() has them in row-major order.
  virtual std::span<float> gradient(std::size_t index) = 0;
  /// Row-major copies of all gradients by parameter name.
  virtual TensorMap gradients() const = 0;

  /// One optimiser step with the gradients as they stand.
  virtual void apply(double learning_rate) = 0;

  /// A whole step: forward, backward, and the optimiser's step where the loss is finite. For a replica whose gradients
  /// nobody else wants. The device may be some steps behind: what is reported can be of earlier steps.
  virtual StepReport step(const data::Batch& batch, double weight, double learning_rate) {
    StepReport report{forward_backward(batch, weight), 1, true};
    if (!std::isfinite(report.sums.loss_sum)) return {{}, 0, false};
    apply(learning_rate);
    return report;
  }
  /// Waits for the steps that have not been reported yet.
  virtual StepReport settle() { return {}; }
  virtual DeviceReport report() const { return {}; }

  /// Whether trained parameters, their gradients and the optimiser's values lie in TrainerOptions::shared. Then
  /// apply_part does what an exchange would, and loading them is replica 0's matter: the others load the rest of a
  /// state alone.
  virtual bool shares_arrays() const { return false; }
  /// Instead of apply(): the optimiser step for one part of the parameters, which is this replica's of `members`
  /// (ascending), with the sum of the members' gradients. Every member does its part, after all have their gradients
  /// and before any computes new ones.
  virtual void apply_part(double learning_rate, std::span<const int> members) {
    static_cast<void>(learning_rate), static_cast<void>(members);
  }

  /// Whether replicas compute each step together instead of each the gradients of its own samples. Then
  /// shares_arrays(), and they call step_together() for every step.
  virtual bool steps_together() const { return false; }
  /// A step whose samples are this replica's `share` and those that the other members give; all of them get the report
  /// of the whole batch. The weights may be read when all have returned.
  virtual StepReport step_together(const data::Batch& share, const BatchShare& of, double weight,
                                   double learning_rate) {
    static_cast<void>(share), static_cast<void>(of), static_cast<void>(weight), static_cast<void>(learning_rate);
    throw Error("this engine's replicas compute gradients on their own");
  }

  /// Exchanges the weights with their average (OptimizerOptions::average_decay), before an evaluation and after it.
  /// Buffers stay. Does nothing where no average is kept.
  virtual void swap_average() = 0;

  /// Forward in evaluation mode (running statistics, no dropout). The class found for each sample is appended to
  /// `predicted` unless that is null.
  virtual BatchResult evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted = nullptr) = 0;

  /// Parameters and buffers under their torchvision names; float32 (num_batches_tracked: int64).
  virtual TensorMap state() const = 0;
  virtual void load_state(const TensorMap& state) = 0;
  /// Momentum and the like, by parameter name with a suffix.
  virtual TensorMap optimizer_state() const = 0;
  virtual void load_optimizer_state(const TensorMap& state) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual const char* name() const = 0;
  /// Why the engine can't do this ("" = it can): a layer, a precision or a device that it does not support.
  virtual std::string refusal(const network::Network& network, const TrainerOptions& options) const = 0;
  /// Memory for TrainerOptions::shared with so many replicas; 0: this engine exchanges gradients.
  virtual std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas) const {
    static_cast<void>(network), static_cast<void>(options), static_cast<void>(replicas);
    return 0;
  }
  virtual std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) = 0;
};

/// For replicas that are threads of one process, before it starts its first thread: glibc would give each thread a heap
/// of its own, made of pieces of 64 MB, and take larger blocks from the system at every step.
void share_one_heap();

/// Opens the engine's module. Throws Error with one of the three refusals.
std::unique_ptr<Engine> open_engine(const std::string& name);

}  // namespace evener::engine
