// The ways in which a replica does a step; choose_protocol() takes one of them.
#pragma once

#include <optional>
#include <utility>

#include "parallel/exchange.h"
#include "parallel/gradient_steps.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"

namespace evener::parallel {

/// A replica that trains by itself leaves each step to its trainer as a whole, which may be ahead of its results.
class StepsAlone : public StepProtocol {
 public:
  explicit StepsAlone(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  const StepContext context_;
};

/// Replicas whose trainers compute each step together, on arrays that all of them see.
class JointSteps : public StepProtocol {
 public:
  explicit JointSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  void exchange_seconds(StepResult& result) const;

  const StepContext context_;
};

/// Replicas whose devices exchange gradients and losses themselves leave each step to their trainers as a whole, which
/// may be ahead of their results.
class DeviceSteps : public StepProtocol {
 public:
  explicit DeviceSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override;

 private:
  void take(engine::StepReport report, StepResult& result) const;

  const StepContext context_;
};

/// Replicas whose values and gradients lie in memory that all of them see: each updates its part of the parameters with
/// the sum of all members' gradients, and nothing is exchanged.
class SharedArraySteps : public GradientSteps {
 public:
  using GradientSteps::GradientSteps;

 protected:
  void update(double learning_rate) override;
};

/// Replicas that add up their gradients, in buckets and while later ones are still computed, and then each do the whole
/// update. A lone one has nobody to add up with.
class ExchangedGradientSteps : public GradientSteps {
 public:
  explicit ExchangedGradientSteps(StepContext context);

 protected:
  void begin_gradients() override;
  void gradient_ready(std::size_t parameter) override;
  void finish_gradients() override;

 private:
  std::optional<Exchange> exchange_;  // nothing: of a lone replica
};

/// Replicas that are divided into stages: the gradients of a batch come out of a pipeline, and those of each stage are
/// added up with the same stage of the other replicas, if there are others.
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
