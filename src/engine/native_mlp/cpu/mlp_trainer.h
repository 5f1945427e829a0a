// What the engine's trainers have in common, wherever their weights are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/native_mlp/cpu/trainer_parts.h"

namespace evener::engine::native_mlp {

/// Its gradients are on the host, where replicas exchange them.
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

  /// Throws Error when images or labels aren't those of the network.
  void check_batch(const data::Batch& batch) const;
  /// Room behind `predicted` for what is found in a batch; null where nobody asks.
  static std::int32_t* room_for(std::int64_t count, std::vector<std::int32_t>* predicted);
  /// Whether the parameter with this index is the layer's weight or bias.
  bool is_of(std::size_t layer, std::size_t parameter) const;
  /// Tells that the gradients of each parameter of a layer are there, last ones first, as the torch engine does.
  void report_layer(std::size_t layer) const;
  void report_layers() const;
  /// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector.
  void clip_gradients();
  bool has_momentum() const { return options_.optimizer.momentum != 0; }
  bool has_average() const { return options_.optimizer.average_decay != 0; }

  const TrainerOptions options_;
  const std::vector<Dense> layers_;
  const std::int64_t inputs_, classes_;
  const Parameters parameters_;  // of gradients as replicas exchange them
  const Trained trained_;
  Arrays arrays_;  // gradients; the others where the weights are on the host, too
  bool has_gradients_ = false;
  double updates_ = 0;

 private:
  std::function<void(std::size_t)> gradient_ready_;
};

}  // namespace evener::engine::native_mlp
