// Replicas whose devices exchange gradients and losses themselves leave each step to their trainers as a whole, which
// may be ahead of their results.
#pragma once

#include <utility>

#include "parallel/steps/protocol.h"

namespace evener::parallel {

class DeviceSteps : public StepProtocol {
 public:
  explicit DeviceSteps(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override;

 private:
  void take(engine::StepReport report, StepResult& result) const;

  const StepContext context_;
};

}  // namespace evener::parallel
