// Trainer on our own kernels for multilayer perceptrons.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/mlp_trainer.h"
#include "engine/native_mlp/sample_images.h"

namespace evener::engine::native_mlp {

/// Why this engine can't train the network with these options; "" if it can.
std::string why_not(const network::Network& network, const TrainerOptions& options);

/// Bytes of memory for replicas that share their weights; 0 where the optimiser needs all gradients at once, or values
/// that the shared arrays lack.
std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas);

class NativeTrainer : public MlpTrainer, public StepsTogether {
 public:
  NativeTrainer(const network::Network& network, const TrainerOptions& options);

  Sums add_gradients(const data::Batch& batch, double weight) override;
  void apply(double learning_rate) override;
  Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override;
  TensorMap state() const override;
  void load_state(const TensorMap& state) override;
  TensorMap optimizer_state() const override;
  void load_optimizer_state(const TensorMap& state) override;
  Capabilities capabilities() override;

  StepReport step_ahead(const data::Batch& batch, double weight, double learning_rate) override;
  StepReport settle_steps() override { return {}; }
  StepReport step_together(const data::Batch& share, const BatchShare& of, double weight,
                           double learning_rate) override;
  void swap_average() override;

 private:
  void make_arrays();
  bool shares_arrays() const { return !options_.shared.bytes.empty(); }
  StepReport step_at_once(const Samples& samples, double weight, double learning_rate, const Crew& crew);
  bool follows() const { return shares_arrays() && options_.shared.replica != 0; }
  UpdateRule rule(double learning_rate) const;
  void begin_update();
  void end_update();

  Arena shared_;
  SharedBatch shared_batch_;
  SampleImages images_;
  const std::function<void(std::size_t)> layer_ready_ = [this](std::size_t layer) { report_layer(layer); };
  std::unique_ptr<Mlp> mlp_;
};

}  // namespace evener::engine::native_mlp
