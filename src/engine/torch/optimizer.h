// One optimiser step over all trained parameters: clipping, SGD or AdamW, the running average.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace evener::engine::torch_engine {

class Optimizer {
 public:
  /// `parameters` are views of the trained ones; their gradients are read from and, when clipped, written to
  /// them. All are on one device.
  Optimizer(std::vector<std::string> names, std::vector<at::Tensor> parameters, const OptimizerOptions& options);

  void step(double learning_rate);
  /// The same without reading or writing a value on the host, so that it can be captured. `learning_rate` and `skip`:
  /// float32 () beside the parameters; with a `skip` of 1 nothing changes.
  void step(const at::Tensor& learning_rate, const at::Tensor& skip);
  void swap_average();

  TensorMap state() const;
  void load_state(const TensorMap& state);

 private:
  /// Values of each parameter that live as long as the run: "weight.momentum".
  struct Slot {
    std::string suffix;
    std::vector<at::Tensor> tensors;
  };

  std::vector<at::Tensor> gradients() const;
  /// SGD or AdamW. `learning_rate`: a number, or a tensor as for step(); no `skip`: always.
  template <class Rate>
  void update_parameters(const std::vector<at::Tensor>& gradients, const Rate& learning_rate,
                         const std::optional<at::Tensor>& skip);
  void begin_average();
  void clip(std::vector<at::Tensor>& gradients) const;
  void clip_unseen(std::vector<at::Tensor>& gradients) const;
  void update_average();
  void update_average_unseen(const at::Tensor& skip);

  const std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  const OptimizerOptions options_;
  std::vector<Slot> slots_;
  at::Tensor steps_;  // done so far; a float32 scalar, as AdamW's kernel reads it
  bool average_began_ = false;
};

}  // namespace evener::engine::torch_engine
