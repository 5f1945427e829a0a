// Replicas that are divided into stages: the gradients of a batch come out of a pipeline, and those of each stage are
// added up with the same stage of the other replicas, if there are others.
#pragma once

#include "parallel/pipeline.h"
#include "parallel/steps/exchanged.h"

namespace evener::parallel {

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
