// The kinds of training steps, of which choose_protocol() takes one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "engine/gradient_exchange.h"
#include "engine/trainer.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"

namespace evener::parallel {

/// One replica's side of the all-reduce of gradients, in buckets, while the backward pass still computes gradients of
/// earlier layers. Call begin() before the backward pass, ready() on the same thread
/// for each gradient that is final, and finish() after the backward pass. finish() also exchanges gradients for which
/// ready() was never called; when it returns, every replica has the sums.
class Exchange {
 public:
  /// `sizes`: number of values of each trained parameter. A network that fits into the first bucket is exchanged on the
  /// calling thread, since its step is shorter than waking another thread would take. All arguments must outlive this.
  Exchange(engine::ExchangesGradients& gradients, comm::Communicator& communicator,
           const std::vector<std::size_t>& sizes, comm::CommunicationDtype communication_dtype);

  void begin();
  void ready(std::size_t parameter);
  void finish();

 private:
  std::vector<std::span<float>> gradients_of(const engine::Bucket& bucket) const;
  void launch(const engine::Bucket& bucket);

  engine::ExchangesGradients& gradients_;
  comm::Communicator& communicator_;
  const comm::CommunicationDtype dtype_;
  engine::BucketProgress progress_;
  std::vector<comm::Pending> pending_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

// Training steps in which each replica computes the gradients of its own share of the batch, at once or in
// micro-batches, and then updates the weights. The base class serves a lone replica; derived classes add what replicas
// that train together do with the gradients.

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

/// For a lone replica: the trainer does each step as a whole, and may run ahead of the results that it reports.
class StepsAlone : public StepProtocol {
 public:
  explicit StepsAlone(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  const StepContext context_;
};

/// For replicas whose trainers compute each step together, on arrays in shared memory.
class JointSteps : public StepProtocol {
 public:
  explicit JointSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  void exchange_seconds(StepResult& result) const;

  const StepContext context_;
};

/// For replicas whose devices exchange gradients and losses themselves: the trainers do each step as a whole, and may
/// run ahead of the results that they report.
class DeviceSteps : public StepProtocol {
 public:
  explicit DeviceSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override;

 private:
  void take(engine::StepReport report, StepResult& result) const;

  const StepContext context_;
};

/// For replicas whose parameters and gradients lie in shared memory: each replica updates its part of the parameters
/// with the sum of all members' gradients, so nothing has to be sent.
class SharedArraySteps : public GradientSteps {
 public:
  using GradientSteps::GradientSteps;

 protected:
  void update(double learning_rate) override;
};

/// For replicas that all-reduce their gradients in buckets, while others are still being computed, and then each do the
/// whole update. A lone replica skips the all-reduce.
class ExchangedGradientSteps : public GradientSteps {
 public:
  explicit ExchangedGradientSteps(StepContext context);

 protected:
  void begin_gradients() override;
  void gradient_ready(std::size_t parameter) override;
  void finish_gradients() override;

 private:
  std::optional<Exchange> exchange_;  // absent for a lone replica
};

/// For replicas that are divided into stages: a pipeline computes the gradients of a batch, and each stage adds its
/// gradients up with the same stage of the other replicas, if any.
class PipelinedSteps : public ExchangedGradientSteps {
 public:
  PipelinedSteps(StepContext context, Pipeline& pipeline);

 protected:
  engine::Sums add_gradients(const StepShare& share, double weight) override;
  comm::Communicator& all_ranks() const override { return *context().channels.control; }
  void finish_gradients() override;

 private:
  Pipeline& pipeline_;
};

}  // namespace evener::parallel
