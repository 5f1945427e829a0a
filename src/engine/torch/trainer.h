// Trainer on LibTorch: autograd for the gradients, one fused SGD step.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/torch/convert.h"
#include "engine/torch/graph.h"

namespace evener::engine::torch_engine {

class TorchTrainer : public Trainer {
 public:
  TorchTrainer(const network::Network& network, const TrainerOptions& options);

  BatchResult forward_backward(const data::Batch& batch, double weight) override;
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { gradient_ready_ = std::move(callback); }
  const std::vector<std::string>& trained_parameters() const override { return trained_names_; }
  std::span<float> gradient(std::size_t index) override;
  TensorMap gradients() const override;
  void apply(double learning_rate) override;
  BatchResult evaluate(const data::Batch& batch) override;
  TensorMap state() const override;
  void load_state(const TensorMap& state) override;
  TensorMap optimizer_state() const override;
  void load_optimizer_state(const TensorMap& state) override;

 private:
  at::Tensor loss_sum(const at::Tensor& logits, const at::Tensor& labels) const;
  BatchResult result_of(const at::Tensor& loss_sum, const at::Tensor& logits, const at::Tensor& labels) const;
  void watch_gradients();

  TrainerOptions options_;
  Graph graph_;
  Normalization normalization_;
  std::vector<std::string> trained_names_;
  std::vector<at::Tensor> trained_;
  std::vector<at::Tensor> momentum_;                                  // empty without momentum
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // keeps the hooks alive
  std::function<void(std::size_t)> gradient_ready_;
};

}  // namespace evener::engine::torch_engine
