// One optimiser step over all trained parameters: loss scaling, clipping, SGD or AdamW, the running average.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/torch/shared_parameters.h"

namespace evener::engine::torch_engine {

/// Dynamic loss scaling for fp16: small gradients are kept from vanishing, and steps whose gradients overflowed are
/// skipped. Nothing of it is read on the host, so it can be part of a captured step.
class LossScaler {
 public:
  /// Starts at 2^16, doubles after 2000 good steps, halves after an overflow: the usual values.
  explicit LossScaler(at::Device device);

  /// What losses are multiplied by: float32 (), the same tensor for life.
  const at::Tensor& scale() const { return scale_; }
  /// Divides `gradients` (float32) by the scale, and sets `overflow` (float32 ()) to 1 where one of them is not finite.
  void unscale(at::TensorList gradients, at::Tensor& overflow) const;
  /// Sets `overflow` to 1 where one of the unscaled gradients is not finite.
  static void check(at::TensorList gradients, at::Tensor& overflow);
  /// Updates the scale at the end of a step, which was skipped if `overflow` is 1.
  void update(const at::Tensor& overflow);

  /// The number of skipped steps; waits for the device.
  std::int64_t skipped() const { return skipped_.item<std::int64_t>(); }
  /// scale, good steps since it changed, skipped steps: float32 (3). Waits for the device.
  at::Tensor state() const;
  void load_state(const at::Tensor& state);

 private:
  at::Tensor scale_, good_steps_, skipped_;
};

class Optimizer {
 public:
  /// `parameters`: views of the trained parameters, all on one device; clipping changes their gradients in place.
  /// `rates`: each parameter's factor on the learning rate. `shared`: the arrays in which parameters and slots lie
  /// where replicas share them; null = they aren't shared.
  Optimizer(std::vector<std::string> names, std::vector<at::Tensor> parameters, const std::vector<double>& rates,
            const OptimizerOptions& options, const SharedParameters* shared);

  void step(double learning_rate);
  /// The same without reading or writing a value on the host, so that it can be captured in a graph. `learning_rate`
  /// and `skip`: float32 () on the parameters' device; if `skip` is 1, nothing changes.
  void step(const at::Tensor& learning_rate, const at::Tensor& skip);
  /// A step of this replica's part of the shared parameters, with the gradients of all `members` summed.
  void step_part(double learning_rate, std::span<const int> members);
  void swap_average();

  TensorMap state() const;
  void load_state(const TensorMap& state);

 private:
  /// An optimiser's value for each parameter, kept for the whole run: "weight.momentum".
  struct Slot {
    std::string suffix;
    std::vector<at::Tensor> tensors;
  };

  /// Consecutive parameters with the same rate.
  struct Group {
    std::size_t begin = 0, count = 0;
    double rate = 1;
  };

  std::vector<at::Tensor> gradients() const;
  /// The parallel lists that a step goes through; slots that the optimiser lacks are empty.
  struct Lists {
    at::TensorList values, gradients, first_slot, second_slot;
  };
  Lists lists_of(const Group& group, const std::vector<at::Tensor>& gradients) const;
  /// SGD or AdamW. `learning_rate`: a number, or a tensor as for step(). No `skip`: the step is always done.
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
