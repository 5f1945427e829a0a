// The common base of the engine's trainers, on the CPU and on accelerators, and parts of theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/trainer_options.h"

namespace evener::engine::native_mlp {

/// The layout of gradients in the arrays that replicas exchange.
inline Layout layout_of(const TrainerOptions& options) {
  return options.native.kernels == KernelChoice::kNaive ? Layout::kRowMajor : Layout::kPanels;
}

/// The normalisation of a network's input. A vector counts as pixels of one channel.
PixelScale pixel_scale_of(const network::Network& network, const TrainerOptions& options);

/// The trained parameters: indices into Parameters::entries(), and their names.
struct Trained {
  explicit Trained(const Parameters& parameters);
  std::vector<std::size_t> entries;
  std::vector<std::string> names;
};

/// The factor by which the average moves towards the weights in step `step`, counted from 1. The first weights say
/// little, so the average forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
double average_share(double decay, double step);

/// The optimiser's values as tensors; empty arrays are left out. The names are those of the torch engine, so that
/// either engine can resume from the other's checkpoint.
TensorMap optimizer_tensors(const Parameters& parameters, const Array& momentum, const Array& average, double steps);
/// The inverse of optimizer_tensors(); returns the number of steps.
double read_optimizer_tensors(const TensorMap& from, const Parameters& parameters, const Array& momentum,
                              const Array& average);

/// Keeps gradients on the host, where replicas exchange them.
class MlpTrainer : public Trainer, public ExchangesGradients, public StepsAhead, public KeepsAverage {
 public:
  void clear_gradients() override { has_gradients_ = false; }
  const std::vector<std::string>& trained_parameters() const override { return trained_.names; }
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { gradient_ready_ = std::move(callback); }
  std::span<float> gradient(std::size_t index) override;
  TensorMap gradients() const override;
  Capabilities capabilities() override;

 protected:
  MlpTrainer(const network::Network& network, const TrainerOptions& options);

  /// Throws Error when images or labels don't fit the network.
  void check_batch(const data::Batch& batch) const;
  /// Appends room for the `count` classes of a batch to `predicted` and returns it; null if `predicted` is null.
  static std::int32_t* room_for(std::int64_t count, std::vector<std::int32_t>* predicted);
  /// Whether the parameter with this index is the layer's weight or bias.
  bool is_of(std::size_t layer, std::size_t parameter) const;
  /// Calls the callback for each parameter of a layer whose gradients are ready, last ones first, as the torch engine
  /// does.
  void report_layer(std::size_t layer) const;
  void report_layers() const;
  /// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector.
  void clip_gradients();
  bool has_momentum() const { return options_.optimizer.momentum != 0; }
  bool has_average() const { return options_.optimizer.average_decay != 0; }

  const TrainerOptions options_;
  const std::vector<Dense> layers_;
  const std::int64_t inputs_, classes_;
  const Parameters parameters_;  // the layout of gradients as replicas exchange them
  const Trained trained_;
  Arrays arrays_;  // gradients; the others where the weights are on the host, too
  bool has_gradients_ = false;
  double updates_ = 0;

 private:
  std::function<void(std::size_t)> gradient_ready_;
};

}  // namespace evener::engine::native_mlp
