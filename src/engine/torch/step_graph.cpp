#include "engine/torch/step_graph.h"

namespace evener::engine::torch_engine {
namespace {

class RepeatedStep : public StepGraph {
 public:
  void capture(const std::function<void()>& step) override { step_ = step; }
  void replay() override { step_(); }

 private:
  std::function<void()> step_;
};

}  // namespace

std::unique_ptr<StepGraph> make_repeated_step() {
  return std::make_unique<RepeatedStep>();
}

std::string step_graph_refusal(const StepGraphFacts& facts) {
  if (!facts.wanted) return "--step-graph off";
  if (!facts.device_has_graphs) return "there are graphs on CUDA only";
  if (facts.batch_norm_is_synchronised) return "batch-norm is synchronised with other replicas through host memory";
  if (facts.gradients_are_exchanged) return "gradients are exchanged through host memory";
  return "";
}

}  // namespace evener::engine::torch_engine
