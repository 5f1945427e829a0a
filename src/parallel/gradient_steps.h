// Training steps in which each replica computes the gradients of its own share of the batch, at once or in
// micro-batches, and then updates the weights. The base class serves a lone replica; derived classes add what replicas
// that train together do with the gradients.
#pragma once

#include "parallel/step_protocol.h"

namespace evener::parallel {

/// The interface through which the trainer exposes its gradients. Throws Error if the trainer has none.
engine::ExchangesGradients& exchange_of(const StepContext& context);

class GradientSteps : public StepProtocol {
 public:
  explicit GradientSteps(StepContext context);
  void step(const StepShare& share, double learning_rate, StepResult& result) final;
  void settle(StepResult& result) final { result.take(context_.trainer.settle()); }

 protected:
  const StepContext& context() const { return context_; }
  /// Adds `weight` times the gradients of the share's samples to the trainer's gradients, which were cleared before,
  /// and returns the sums of losses and the like.
  virtual engine::Sums add_gradients(const StepShare& share, double weight);
  /// Has to be called before the last micro-batch, whose backward pass makes the gradients final.
  void final_part_begins() { set_last_part(true); }
  /// The channel on which the ranks of all stages add up losses and times of a step.
  virtual comm::Communicator& all_ranks() const { return *context_.channels.sums; }
  /// From now on the trainer's callback calls gradient_ready(), and slows an emulated slower device down during the
  /// backward pass too. Throws Error if the trainer doesn't expose its gradients.
  void watch_gradients();

  /// Called before the gradients of a batch are computed.
  virtual void begin_gradients() {}
  /// Called when the gradient of `parameter` is final, as the backward pass reaches it.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  /// Called when all gradients of this replica are final. Must leave in the trainer the gradients that update()
  /// applies.
  virtual void finish_gradients() {}
  /// The optimiser's step. Called only if the losses of all members were finite; since the losses were added up over
  /// all members, every member has its gradients by then.
  virtual void update(double learning_rate) { context_.trainer.apply(learning_rate); }

 private:
  void set_last_part(bool last);
  engine::Sums compute_gradients(const StepShare& share);
  void sum_losses(const engine::Sums& own, StepResult& result) const;

  const StepContext context_;
  bool computing_ = false;  // a step is under way: gradients computed to measure a speed are not exchanged
  bool last_part_ = false;  // the last micro-batch is computed, which makes gradients final
};

}  // namespace evener::parallel
