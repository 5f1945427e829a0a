// The kinds of training steps, of which choose_protocol() takes one.
#pragma once

#include <optional>
#include <utility>

#include "parallel/exchange.h"
#include "parallel/gradient_steps.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"

namespace evener::parallel {

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
