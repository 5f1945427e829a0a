// The options of a trainer: those of every engine, and those that only one engine has.
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
#include "engine/gradient_exchange.h"
#include "network/criterion.h"

namespace evener::engine {

/// Normalisation of pixels for a network's input: for each channel, value * scale + shift.
struct PixelScale {
  std::vector<float> scale, shift;  // of each channel
};

/// The scale and shift that map bytes to (value / 255 - mean) / standard deviation. Channels beyond those given have
/// the mean 0 and the deviation 1.
PixelScale make_pixel_scale(const std::vector<float>& mean, const std::vector<float>& standard_deviation,
                            std::int64_t channels);

enum class OptimizerKind { kSgd, kAdamW };

const char* optimizer_name(OptimizerKind kind);  // "sgd", "adamw"

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kSgd;
  double momentum = 0;    // of SGD
  bool nesterov = false;  // SGD looks ahead along its momentum (torch.optim.SGD)
  /// SGD: L2 term added to the gradient; AdamW: weights shrink by lr * this (torch.optim.AdamW).
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of AdamW
  double clip_norm = 0;      // gradients are scaled down if their global norm exceeds this; 0 = never
  double average_decay = 0;  // decay of the exponential moving average of the weights; 0 = none is kept
  /// For a network divided into stages: returns the sum of a value over all stages, for the global norm in clipping.
  /// Each stage calls it once per step.
  std::function<double(double)> sum_over_stages = {};
};

/// Values that an optimiser keeps for each parameter that it trains.
int optimizer_slots(const OptimizerOptions& options);

/// Memory that all replicas of a run share, for engines that keep the weights once for all replicas. Zero at first.
struct SharedArrays {
  std::span<std::byte> bytes = {};  // as many as Engine::shared_bytes; empty: nothing is shared
  int replica = 0, replicas = 1;
  std::int64_t batch = 0;           // samples of all replicas together, at most
  std::function<void()> meet = {};  // returns when every replica that trains has called it
};

enum class MemoryLayout { kAuto, kChannelsFirst, kChannelsLast };

/// How 3x3 convolutions are computed on CPUs: directly, or by Winograd's minimal filtering, which needs a quarter of
/// the multiplications but rounds a little differently. Winograd multiplies in float32 even where images are bfloat16.
enum class ConvolutionChoice { kAuto, kDirect, kWinograd };

/// Options that only the torch engine has.
struct TorchOptions {
  MemoryLayout layout = MemoryLayout::kAuto;
  ConvolutionChoice convolution = ConvolutionChoice::kAuto;
  /// Drives the CPU by the code for GPUs, with staged copies and results that come later, so that tests can cover that
  /// code on machines without a GPU.
  bool like_accelerator = false;
};

/// Whether the native engine computes with kernels for this processor, or with plain loops as a reference for tests.
enum class KernelChoice { kSimd, kNaive };

/// Options that only the native engine has.
struct NativeOptions {
  KernelChoice kernels = KernelChoice::kSimd;
};

/// Which stage of a divided network a trainer computes (network/passes/cut.h); a whole network is one stage.
struct StageOfNetwork {
  int number = 0, count = 1;
  /// Gradients of weights are computed separately, after those that go to the stage before.
  bool splits_backward = false;
  int micro_batches = 1;  // of a step

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
  int accumulate = 1;  // number of add_gradients() calls per step
  OptimizerOptions optimizer;
  std::vector<float> mean, standard_deviation;  // per channel, applied to value / 255
  std::uint64_t seed = 1;
  /// Sums values over all replicas, in place, for synchronised batch-norm. Every replica calls it equally often, in the
  /// same order and with equal sizes, even if its share of the batch is empty. Empty = batch-norm uses the statistics
  /// of this replica's samples alone.
  std::function<void(std::span<double>)> sum_over_replicas;
  /// Sums gradients, losses and batch-norm statistics over the replicas' devices directly; null = they go through the
  /// host, or there is one replica. A trainer that can use it has StepsOnDevices.
  std::shared_ptr<DeviceSums> device_sums = nullptr;
  SharedArrays shared;
  StageOfNetwork stage;
  /// Data that the device keeps whole, or that the engine reads from memory itself, so that batches need only the
  /// samples' indices (data::Batch::images may be empty). Null = images come with each batch.
  std::shared_ptr<const data::Dataset> resident = nullptr;
  int resident_threads = 1;  // threads that read it
  /// Whether an engine may record the kernels of a step and replay them as one launch (a CUDA graph) instead of
  /// launching every kernel anew.
  bool step_graph = true;
  /// Whether the same steps on the same device must give the same bits, even where that is slower.
  bool deterministic = false;
  TorchOptions torch;
  NativeOptions native;
};

}  // namespace evener::engine
