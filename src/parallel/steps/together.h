// Replicas whose trainers compute each step together, on arrays that all of them see.
#pragma once

#include <utility>

#include "parallel/steps/protocol.h"

namespace evener::parallel {

class JointSteps : public StepProtocol {
 public:
  explicit JointSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  void exchange_seconds(StepResult& result) const;

  const StepContext context_;
};

}  // namespace evener::parallel
