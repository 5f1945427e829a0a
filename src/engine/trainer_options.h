// What a trainer is made of: what every engine needs to know, and the options that one engine alone has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/device.h"
#include "base/precision.h"
#include "data/dataset.h"
#include "engine/device_sums.h"
#include "network/criterion.h"

namespace evener::engine {

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
  /// Of a divided network: adds up a value over its stages, each of which calls it once in a step that clips.
  std::function<double(double)> sum_over_stages = {};
};

/// Values that an optimiser keeps for each parameter that it trains.
int optimizer_slots(const OptimizerOptions& options);

/// Memory that all replicas of a run see, for engines that keep weights once for all of them. Zero at first.
struct SharedArrays {
  std::span<std::byte> bytes = {};  // Engine::shared_bytes of them; empty: none
  int replica = 0, replicas = 1;
  std::int64_t batch = 0;           // samples of all replicas together, at most
  std::function<void()> meet = {};  // returns when every replica that trains has called it
};

enum class MemoryLayout { kAuto, kChannelsFirst, kChannelsLast };

/// How 3x3 convolutions are computed on CPUs: directly, or by Winograd's minimal filtering, which rounds a little
/// differently and needs a quarter of the multiplications, in float32 also of images in bfloat16.
enum class ConvolutionChoice { kAuto, kDirect, kWinograd };

/// Options that only the torch engine has.
struct TorchOptions {
  MemoryLayout layout = MemoryLayout::kAuto;
  ConvolutionChoice convolution = ConvolutionChoice::kAuto;
  /// Drives the CPU as a GPU is driven: staged copies, results that come later. For tests, which can thus look at that
  /// code on machines without a GPU.
  bool like_accelerator = false;
};

/// The native engine computes with kernels for this processor, or with plain loops as a reference.
enum class KernelChoice { kSimd, kNaive };

/// Options that only the native engine has.
struct NativeOptions {
  KernelChoice kernels = KernelChoice::kSimd;
};

/// Which stage of a divided network a trainer computes (network/passes/cut.h); a whole network is one stage.
struct StageOfNetwork {
  int number = 0, count = 1;
  bool splits_backward = false;  // gradients of weights are computed later than those that go to the stage before

  bool is_first() const { return number == 0; }
  bool is_last() const { return number + 1 == count; }
  bool is_part() const { return count > 1; }
};

struct TrainerOptions {
  Device device;
  std::vector<int> cpus;  // CPUs that compute; empty = not pinned
  int threads = 1;
  Precision precision = Precision::kFp32;
  network::Criterion criterion;
  int accumulate = 1;  // calls of add_gradients whose gradients make up a step
  OptimizerOptions optimizer;
  std::vector<float> mean, standard_deviation;  // per channel, applied to value / 255
  std::uint64_t seed = 1;
  /// Adds up values over all replicas, in place, for the batch-norm statistics of the whole batch. Every replica calls
  /// it equally often, in the same order and with equal sizes, also one whose batch is empty. Empty = batch-norm takes
  /// the statistics of this replica's samples alone.
  std::function<void(std::span<double>)> sum_over_replicas;
  /// Of replicas whose devices add up gradients, losses and batch-norm statistics themselves; null = they go through
  /// the host, or there are no others. A trainer that can do it offers StepsOnDevices.
  std::shared_ptr<DeviceSums> device_sums = nullptr;
  SharedArrays shared;
  StageOfNetwork stage;
  /// Data that the device keeps whole, or that the engine takes from memory itself, so that batches need only say which
  /// samples they have (data::Batch::images may be empty). Null = images come with each batch.
  std::shared_ptr<const data::Dataset> resident = nullptr;
  int resident_threads = 1;  // that read it
  /// Whether an engine that drives an accelerator may replay the work of an earlier step as one (a CUDA graph) instead
  /// of starting every kernel anew.
  bool step_graph = true;
  /// Whether the same steps on the same device have to give the same bits, also where quicker ways would not.
  bool deterministic = false;
  TorchOptions torch;
  NativeOptions native;
};

}  // namespace evener::engine
