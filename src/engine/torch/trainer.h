// Trainer on LibTorch: autograd for the gradients, a fused optimiser step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/torch/convert.h"
#include "engine/torch/graph.h"
#include "engine/torch/optimizer.h"

namespace evener::engine::torch_engine {

/// Why a network can't be trained as one replica of several with this layout ("" = it can).
std::string replica_refusal(const network::Network& network, const TrainerOptions& options);

/// Built, used and destroyed on one thread: LibTorch's number of threads and OpenMP's workers belong to it.
class TorchTrainer : public Trainer {
 public:
  TorchTrainer(const network::Network& network, const TrainerOptions& options);

  void clear_gradients() override;
  BatchResult add_gradients(const data::Batch& batch, double weight) override;
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { gradient_ready_ = std::move(callback); }
  const std::vector<std::string>& trained_parameters() const override { return trained_names_; }
  std::span<float> gradient(std::size_t index) override;
  TensorMap gradients() const override;
  void apply(double learning_rate) override;
  void swap_average() override { optimizer_->swap_average(); }
  BatchResult evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override;
  TensorMap state() const override;
  void load_state(const TensorMap& state) override;
  TensorMap optimizer_state() const override { return optimizer_->state(); }
  void load_optimizer_state(const TensorMap& state) override { optimizer_->load_state(state); }

 private:
  at::Tensor loss_sum(const at::Tensor& logits, const at::Tensor& labels) const;
  at::Tensor mixed_loss_sum(const at::Tensor& logits, const at::Tensor& labels, const data::Batch& batch) const;
  BatchResult train_on(const data::Batch& batch, double weight);
  void add_nothing();
  void train_on_nothing(std::uint64_t epoch);
  BatchResult result_of(const at::Tensor& loss_sum, const at::Tensor& found, const at::Tensor& labels) const;
  void watch_gradients();

  TrainerOptions options_;
  Graph graph_;
  Replicas replicas_;
  bool synchronised_;  // batch-norm takes the statistics of all replicas
  Normalization normalization_;
  std::vector<std::string> trained_names_;
  std::vector<at::Tensor> trained_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // keeps the hooks alive
  std::function<void(std::size_t)> gradient_ready_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace evener::engine::torch_engine
