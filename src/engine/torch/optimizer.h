// One optimiser step over all trained parameters: clipping, SGD or AdamW, the running average.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/torch/shared_parameters.h"

namespace evener::engine::torch_engine {

class Optimizer {
 public:
  /// `parameters` are views of the trained ones; their gradients are read from and, when clipped, written to
  /// them. All are on one device. `rates`: of each, in shares of the learning rate. `shared`: where they lie with the
  /// slots, in memory of all replicas; null = they don't.
  Optimizer(std::vector<std::string> names, std::vector<at::Tensor> parameters, const std::vector<double>& rates,
            const OptimizerOptions& options, const SharedParameters* shared);

  void step(double learning_rate);
  /// The same without reading or writing a value on the host, so that it can be captured. `learning_rate` and `skip`:
  /// float32 () beside the parameters; with a `skip` of 1 nothing changes.
  void step(const at::Tensor& learning_rate, const at::Tensor& skip);
  /// A step of this replica's part of the shared parameters, with the sums of the members' gradients.
  void step_part(double learning_rate, std::span<const int> members);
  void swap_average();

  TensorMap state() const;
  void load_state(const TensorMap& state);

 private:
  /// Values of each parameter that live as long as the run: "weight.momentum".
  struct Slot {
    std::string suffix;
    std::vector<at::Tensor> tensors;
  };

  /// Parameters that follow each other and learn at one rate.
  struct Group {
    std::size_t begin = 0, count = 0;
    double rate = 1;
  };

  std::vector<at::Tensor> gradients() const;
  /// What a step goes through, side by side; the slots as far as there are any.
  struct Lists {
    at::TensorList values, gradients, first_slot, second_slot;
  };
  Lists lists_of(const Group& group, const std::vector<at::Tensor>& gradients) const;
  /// SGD or AdamW. `learning_rate`: a number, or a tensor as for step(); no `skip`: always.
  template <class Rate>
  void update(const Lists& lists, const Rate& learning_rate, const std::optional<at::Tensor>& skip) const;
  void begin_average();
  void clip(std::vector<at::Tensor>& gradients) const;
  void clip_unseen(std::vector<at::Tensor>& gradients) const;
  void update_average();
  void update_average_unseen(const at::Tensor& skip);

  const std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<Group> groups_;
  const OptimizerOptions options_;
  const SharedParameters* const shared_;
  std::vector<Slot> slots_;
  at::Tensor steps_;  // done so far; a float32 scalar, as AdamW's kernel reads it
  bool average_began_ = false;
};

}  // namespace evener::engine::torch_engine
