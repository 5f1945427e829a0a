// Steps in which each replica computes the gradients of its own share of the batch, at once or in micro-batches, before
// the weights are changed. By itself this is a lone replica's way; those that train with others derive from it and say
// what becomes of the gradients.
#pragma once

#include "parallel/step_protocol.h"

namespace evener::parallel {

/// The trainer's gradients. Throws Error where it gives none away.
engine::ExchangesGradients& exchange_of(const StepContext& context);

class GradientSteps : public StepProtocol {
 public:
  explicit GradientSteps(StepContext context);
  void step(const StepShare& share, double learning_rate, StepResult& result) final;
  void settle(StepResult& result) final { result.take(context_.trainer.settle()); }

 protected:
  const StepContext& context() const { return context_; }
  /// Adds the gradients of the share to the trainer's, which are clear, and returns its sums.
  virtual engine::Sums add_gradients(const StepShare& share, double weight);
  /// To be called before the gradients become final.
  void final_part_begins() { set_last_part(true); }
  /// The channel on which all ranks, of whatever stage, add up what the step came to.
  virtual comm::Communicator& all_ranks() const { return *context_.channels.sums; }
  /// Makes gradient_ready() called, and the throttle kept to while gradients are computed. Throws Error where the
  /// trainer tells nobody of its gradients.
  void watch_gradients();

  /// Gradients of a new batch are about to be computed.
  virtual void begin_gradients() {}
  /// The gradient of this parameter is final.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  /// All gradients of this replica are final. When this returns, they are those that the update takes.
  virtual void finish_gradients() {}
  /// The optimiser's step. The losses of all members were finite, from which it is known that all have their
  /// gradients.
  virtual void update(double learning_rate) { context_.trainer.apply(learning_rate); }

 private:
  void set_last_part(bool last);
  engine::Sums compute_gradients(const StepShare& share);
  void sum_losses(const engine::Sums& own, StepResult& result) const;

  const StepContext context_;
  bool computing_ = false;  // a step's gradients; others are computed to measure a speed
  bool last_part_ = false;  // of the share: gradients become final
};

}  // namespace evener::parallel
