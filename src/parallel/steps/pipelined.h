// Replicas that are divided into stages: the gradients of a batch come out of a pipeline, and those of each stage are
// added up with the same stage of the other replicas, if there are others.
#pragma once

#include <optional>

#include "parallel/buckets.h"
#include "parallel/pipeline.h"
#include "parallel/steps/gradients.h"

namespace evener::parallel {

class PipelinedSteps : public GradientSteps {
 public:
  PipelinedSteps(StepContext context, Pipeline& pipeline);

 protected:
  engine::Sums add_gradients(const StepShare& share, double weight) override;
  comm::Communicator& all_ranks() const override { return *context().channels.control; }
  void begin_gradients() override;
  void gradient_ready(std::size_t parameter) override;
  void finish_gradients() override;

 private:
  Pipeline& pipeline_;
  std::optional<Exchange> exchange_;  // nothing: of a lone replica
};

}  // namespace evener::parallel
