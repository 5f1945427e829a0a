// An engine makes a Network compute. Engines are modules; the interface passes host memory and numbers only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/tensor.h"
#include "data/loader.h"
#include "network/network.h"

namespace evener::engine {

enum class Precision { kFp32, kBf16, kFp16 };
enum class Loss { kCrossEntropy, kMse };  // MSE: against one-hot targets, mean over outputs, as torch.nn.MSELoss
enum class MemoryLayout { kAuto, kChannelsFirst, kChannelsLast };

const char* precision_name(Precision precision);
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

struct TrainerOptions {
  Device device;
  std::vector<int> cpus;  // CPUs that compute; empty = not pinned
  int threads = 1;
  Precision precision = Precision::kFp32;
  Loss loss = Loss::kCrossEntropy;
  MemoryLayout layout = MemoryLayout::kAuto;
  double label_smoothing = 0;  // cross-entropy against (1 - s) * one-hot + s / classes
  OptimizerOptions optimizer;
  std::vector<float> mean, standard_deviation;  // per channel, applied to value / 255
  std::uint64_t seed = 1;
  /// Adds up values over all replicas, in place, for the batch-norm statistics of the whole batch. Every replica calls
  /// it equally often, in the same order and with equal sizes, also one whose batch is empty. Empty = batch-norm takes
  /// the statistics of this replica's samples alone.
  std::function<void(std::span<double>)> sum_over_replicas;
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
  virtual std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options) = 0;
};

/// For replicas that are threads of one process, before it starts its first thread: glibc would give each thread a heap
/// of its own, made of pieces of 64 MB, and take larger blocks from the system at every step.
void share_one_heap();

/// Opens the engine's module. Throws Error with one of the three refusals.
std::unique_ptr<Engine> open_engine(const std::string& name);

}  // namespace evener::engine
