// A replica that trains by itself leaves each step to its trainer as a whole, which may be ahead of its results.
#pragma once

#include <utility>

#include "parallel/steps/protocol.h"

namespace evener::parallel {

class StepsAlone : public StepProtocol {
 public:
  explicit StepsAlone(StepContext context) : context_(std::move(context)) {}
  void step(const StepShare& share, double learning_rate, StepResult& result) override;
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 private:
  const StepContext context_;
};

}  // namespace evener::parallel
